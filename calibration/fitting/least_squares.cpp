#include "calibration/fitting/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "models/execution/execution_error.hpp"

namespace weft::calibration::fitting {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int max_steps = 200;
constexpr double least_gain = 1e-10;       ///< relative gain of a step below which the search ends
constexpr double two_sided_95 = 1.959964;  ///< quantile of the normal distribution

class LeastSquaresSearch {
 public:
  LeastSquaresSearch(const Residuals& residuals, const std::vector<Parameter>& parameters, double scale,
                     double difference)
      : residuals_(residuals),
        parameters_(parameters),
        scale_(scale),
        difference_(difference),
        size_(parameters.size()),
        value_(count()) {
    for (Eigen::Index i = 0; i < count(); ++i) {
      const Parameter& parameter = of(i);
      value_[i] = std::clamp(parameter.start, parameter.low, parameter.high);
      size_[static_cast<std::size_t>(i)] = std::max(std::abs(value_[i]), 1e-3 * (parameter.high - parameter.low));
    }
    residual_ = residuals_at(value_);
    if (!residual_.allFinite()) throw ExecutionError("the model has no finite prediction where its fit starts");
    cost_ = cost_of(residual_);
  }

  std::vector<FittedParameter> run() {
    double damping = 1e-3;
    for (int step = 0; step < max_steps && damping < 1e12; ++step) {
      linearise();
      const double before = cost_;
      while (damping < 1e12 && !try_step(damping)) damping *= 4;
      damping = std::max(damping / 8, 1e-12);
      if (before - cost_ <= least_gain * before) break;
    }
    linearise();
    return estimates();
  }

 private:
  Eigen::Index count() const { return static_cast<Eigen::Index>(parameters_.size()); }
  const Parameter& of(Eigen::Index i) const { return parameters_[static_cast<std::size_t>(i)]; }
  double size_of(Eigen::Index i) const { return size_[static_cast<std::size_t>(i)]; }

  VectorXd residuals_at(const VectorXd& value) const {
    const std::vector<double> residual = residuals_({value.begin(), value.end()});
    return Eigen::Map<const VectorXd>(residual.data(), static_cast<Eigen::Index>(residual.size()));
  }
  double cost_of(const VectorXd& residual) const {
    return 2 * scale_ * scale_ * ((1 + (residual / scale_).array().square()).sqrt() - 1).sum();
  }

  /// Jacobian in parameters of size one, and which of them may move: not those that a bound holds back.
  void linearise() {
    weight_ = (1 + (residual_ / scale_).array().square()).rsqrt();
    jacobian_.resize(residual_.size(), count());
    for (Eigen::Index i = 0; i < count(); ++i) {
      VectorXd moved = value_;
      moved[i] += (value_[i] + difference_ * size_of(i) > of(i).high ? -1 : 1) * difference_ * size_of(i);
      jacobian_.col(i) = (residuals_at(moved) - residual_) * size_of(i) / (moved[i] - value_[i]);
    }
    normal_ = jacobian_.transpose() * weight_.asDiagonal() * jacobian_;
    gradient_ = jacobian_.transpose() * weight_.asDiagonal() * residual_;
    free_.clear();
    for (Eigen::Index i = 0; i < count(); ++i) {
      const bool is_held =
          (value_[i] <= of(i).low && gradient_[i] > 0) || (value_[i] >= of(i).high && gradient_[i] < 0);
      if (is_determined(i) && !is_held) free_.push_back(i);
    }
  }
  bool is_determined(Eigen::Index i) const { return jacobian_.col(i).cwiseAbs().maxCoeff() > 1e-12; }

  bool try_step(double damping) {
    if (free_.empty()) return true;
    MatrixXd damped = normal_(free_, free_);
    damped.diagonal() *= 1 + damping;
    const VectorXd step = damped.ldlt().solve(-gradient_(free_));
    VectorXd moved = value_;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const Eigen::Index at = free_[i];
      moved[at] = std::clamp(value_[at] + step[static_cast<Eigen::Index>(i)] * size_of(at), of(at).low, of(at).high);
    }
    const VectorXd residual = residuals_at(moved);
    if (!residual.allFinite() || cost_of(residual) >= cost_) return false;
    value_ = moved;
    residual_ = residual;
    cost_ = cost_of(residual);
    return true;
  }

  /// Covariance = (variance of the weighted residuals) x (inverse of J^T W J) over the parameters inside their bounds.
  std::vector<FittedParameter> estimates() const {
    std::vector<FittedParameter> result;
    for (Eigen::Index i = 0; i < count(); ++i)
      result.push_back({value_[i], 0, is_determined(i), value_[i] <= of(i).low || value_[i] >= of(i).high});
    if (free_.empty()) return result;
    const auto degrees = static_cast<double>(std::max<Eigen::Index>(1, residual_.size() - count()));
    const double variance = residual_.cwiseAbs2().cwiseProduct(weight_).sum() / degrees;
    const MatrixXd free_normal = normal_(free_, free_);
    const MatrixXd covariance = variance * free_normal.completeOrthogonalDecomposition().pseudoInverse();
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      const double deviation = std::sqrt(std::max(0.0, covariance(at, at)));
      result[static_cast<std::size_t>(free_[i])].half_width = two_sided_95 * deviation * size_of(free_[i]);
    }
    return result;
  }

  const Residuals& residuals_;
  const std::vector<Parameter>& parameters_;
  double scale_, difference_;
  std::vector<double> size_;
  VectorXd value_, residual_, weight_, gradient_;
  double cost_ = 0;
  MatrixXd jacobian_, normal_;
  std::vector<Eigen::Index> free_;
};

}  // namespace

double soft_square(double residual, double scale) {
  const double share = residual / scale;
  return 2 * scale * scale * (std::sqrt(1 + share * share) - 1);
}

std::vector<FittedParameter> fit_least_squares(const Residuals& residuals, const std::vector<Parameter>& parameters,
                                               double scale, double difference) {
  return LeastSquaresSearch(residuals, parameters, scale, difference).run();
}

}  // namespace weft::calibration::fitting
