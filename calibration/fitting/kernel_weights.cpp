#include "calibration/fitting/kernel_weights.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/cost/gemm_kernel_choice.hpp"

namespace weft::calibration::fitting {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t most_shapes = 7500, fewest_shapes = 1000, kept_aside = 5;
constexpr double ridge = 1e-4;  ///< for each shape, on features of spread one: they overlap
constexpr int most_steps = 30;
constexpr double least_gain_of_a_shape = 1e-7;  ///< gain of a step for each shape below which the search ends

/// The kernels that a shape may get, one a row, and the row of the one that it got.
struct Question {
  MatrixXd features;
  Index answer = -1;
};

std::vector<Question> questions_of(const Machine& machine) {
  std::vector<Question> questions;
  const std::vector<GemmChoice> answers = machine.gemm_choices.answers();
  const std::size_t count = std::min(answers.size(), most_shapes);
  for (std::size_t i = 0; i < count; ++i) {
    const GemmChoice& asked = answers[i * answers.size() / count];
    const MatrixSize size{asked.m, asked.n, asked.k};
    const NearKernels near = near_kernels(machine, size);
    Question question{MatrixXd(static_cast<Index>(near.kernels.size()), static_cast<Index>(kernel_feature_count))};
    for (std::size_t row = 0; row < near.kernels.size(); ++row) {
      const KernelFeatures features = kernel_features(machine, size, near.kernels[row], near);
      question.features.row(static_cast<Index>(row)) =
          Eigen::Map<const VectorXd>(features.data(), static_cast<Index>(features.size())).transpose();
      if (near.kernels[row].kernel == asked.kernel) question.answer = static_cast<Index>(row);
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

/// Of the features of all questions.
VectorXd spread_of(const std::vector<Question>& questions) {
  const auto count = static_cast<Index>(kernel_feature_count);
  VectorXd sum = VectorXd::Zero(count), squares = VectorXd::Zero(count);
  double rows = 0;
  for (const Question& question : questions) {
    sum += question.features.colwise().sum().transpose();
    squares += question.features.array().square().matrix().colwise().sum().transpose();
    rows += static_cast<double>(question.features.rows());
  }
  const VectorXd mean = sum / rows;
  return (squares / rows - mean.array().square().matrix()).array().max(1e-12).sqrt();
}

VectorXd likelihoods(const Question& question, const VectorXd& weights) {
  const VectorXd scores = question.features * weights;
  const VectorXd shares = (scores.array() - scores.maxCoeff()).exp();
  return shares / shares.sum();
}

/// Newton's method on the mean log-likelihood, less the ridge: one maximum, since both are concave.
class WeightSearch {
 public:
  explicit WeightSearch(const std::vector<const Question*>& questions)
      : questions_(questions), weights_(VectorXd::Zero(static_cast<Index>(kernel_feature_count))) {}

  VectorXd run() {
    double value = value_at(weights_);
    for (int step = 0; step < most_steps; ++step) {
      const VectorXd direction = newton_step();
      double length = 1, next = value_at(weights_ + direction);
      while (next < value && length > 1e-6) next = value_at(weights_ + (length /= 2) * direction);
      if (next - value < least_gain_of_a_shape) break;
      weights_ += length * direction;
      value = next;
    }
    return weights_;
  }

 private:
  double value_at(const VectorXd& weights) const {
    double sum = 0;
    for (const Question* question : questions_)
      sum += std::log(std::max(likelihoods(*question, weights)[question->answer], 1e-300));
    return sum / static_cast<double>(questions_.size()) - ridge * weights.squaredNorm();
  }

  VectorXd newton_step() const {
    VectorXd gradient = VectorXd::Zero(weights_.size());
    MatrixXd curvature = MatrixXd::Zero(weights_.size(), weights_.size());
    for (const Question* question : questions_) {
      const VectorXd likely = likelihoods(*question, weights_);
      const VectorXd mean = question->features.transpose() * likely;
      gradient += question->features.row(question->answer).transpose() - mean;
      const MatrixXd scaled = likely.cwiseSqrt().asDiagonal() * (question->features.rowwise() - mean.transpose());
      curvature.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
    }
    const auto count = static_cast<double>(questions_.size());
    gradient = gradient / count - 2 * ridge * weights_;
    curvature /= count;
    curvature.diagonal().array() += 2 * ridge;
    return curvature.selfadjointView<Eigen::Lower>().ldlt().solve(gradient);
  }

  const std::vector<const Question*>& questions_;
  VectorXd weights_;
};

}  // namespace

KernelWeights fit_kernel_weights(const Machine& machine) {
  if (machine.gemm_choices.size() < fewest_shapes) return {};
  std::vector<Question> questions = questions_of(machine);
  const VectorXd spread = spread_of(questions);
  std::vector<const Question*> fitted, aside;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i].features *= spread.cwiseInverse().asDiagonal();
    if (i % kept_aside == 0)
      aside.push_back(&questions[i]);
    else if (questions[i].answer >= 0)
      fitted.push_back(&questions[i]);
  }
  if (fitted.empty()) return {};
  const VectorXd weights = WeightSearch(fitted).run();
  const auto is_right = [&](const Question* question) {
    Index likeliest = 0;
    (question->features * weights).maxCoeff(&likeliest);
    return likeliest == question->answer;
  };
  const VectorXd plain = weights.cwiseQuotient(spread);
  return {{plain.begin(), plain.end()},
          static_cast<double>(std::ranges::count_if(aside, is_right)) / static_cast<double>(aside.size()),
          aside.size()};
}

}  // namespace weft::calibration::fitting
