#include "calibration/fitting/choice_network.hpp"

#include <tbb/parallel_for.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <utility>

#include "models/machine/kernel_network.hpp"

namespace weft::calibration::fitting {
namespace {

using Eigen::Index;
using Eigen::VectorXf;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t batch = 64, parts = 4;  ///< choices of a step; what is summed up by itself, on any thread
constexpr std::size_t times_each = 10, fewest_steps = 3000;  ///< so often each choice is learned from, or more often
constexpr auto passed_below = static_cast<float>(passed_below_zero);
constexpr float first_rate = 3e-3F, decay = 1e-4F, forgets_mean = 0.1F, forgets_square = 1e-3F;

Index rows_of(const Choice& choice) { return static_cast<Index>(choice.rows); }

auto features_of(Choice& choice) {
  return Eigen::Map<Matrix>(choice.features.data(), rows_of(choice),
                            static_cast<Index>(choice.features.size() / choice.rows));
}

auto features_of(const Choice& choice) {
  return Eigen::Map<const Matrix>(choice.features.data(), rows_of(choice),
                                  static_cast<Index>(choice.features.size() / choice.rows));
}

/// The same on every machine, as std::normal_distribution and std::shuffle are not.
float drawn(std::mt19937& random) { return static_cast<float>(random()) / 0x1p31F - 1; }

std::vector<std::size_t> shuffled(std::size_t count, std::mt19937& random) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

struct Layer {
  Matrix weights;  // inputs x neurons
  VectorXf biases;
};

using Layers = std::vector<Layer>;

Layers drawn_layers(std::span<const std::size_t> neurons, std::mt19937& random) {
  Layers layers;
  for (std::size_t i = 1; i < neurons.size(); ++i) {
    const auto inputs = static_cast<Index>(neurons[i - 1]), outputs = static_cast<Index>(neurons[i]);
    Layer& layer = layers.emplace_back(Layer{Matrix(inputs, outputs), VectorXf::Zero(outputs)});
    const float width = std::sqrt(3 / static_cast<float>(inputs));
    for (float& weight : layer.weights.reshaped<Eigen::RowMajor>()) weight = width * drawn(random);
  }
  return layers;
}

Layers zeros_like(const Layers& layers) {
  Layers zeros;
  for (const Layer& one : layers)
    zeros.push_back({Matrix::Zero(one.weights.rows(), one.weights.cols()), VectorXf::Zero(one.biases.size())});
  return zeros;
}

/// Of the scores of a choice's rows: what they are likely to be chosen, less one for the row that is.
void set_gradient(const Choice& choice, Eigen::Ref<Matrix> scores) {
  scores = (scores.array() - scores.maxCoeff()).exp();
  scores /= scores.sum();
  scores(static_cast<Index>(choice.chosen), 0) -= 1;
}

/// Adds the gradient of minus the log-likelihood of some choices.
void add_gradient(const Layers& layers, std::span<const Choice* const> choices, Layers& gradient) {
  Index rows = 0;
  for (const Choice* one : choices) rows += rows_of(*one);
  std::vector<Matrix> inputs{Matrix(rows, layers.front().weights.rows())};
  Index row = 0;
  for (const Choice* one : choices) {
    inputs.front().middleRows(row, rows_of(*one)) = features_of(*one);
    row += rows_of(*one);
  }
  for (const Layer& layer : layers) {
    Matrix outputs = (inputs.back() * layer.weights).rowwise() + layer.biases.transpose();
    if (&layer != &layers.back()) outputs = outputs.cwiseMax(passed_below * outputs);
    inputs.push_back(std::move(outputs));
  }
  Matrix back = std::move(inputs.back());
  row = 0;
  for (const Choice* one : choices) {
    set_gradient(*one, back.middleRows(row, rows_of(*one)));
    row += rows_of(*one);
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    gradient[i].weights.noalias() += inputs[i].transpose() * back;
    gradient[i].biases += back.colwise().sum().transpose();
    if (i == 0) break;
    Matrix before = back * layers[i].weights.transpose();
    back = (inputs[i].array() > 0).select(before, passed_below * before);
  }
}

class Training {
 public:
  Training(std::span<const std::size_t> neurons, const std::vector<Choice>& choices)
      : choices_(choices),
        layers_(drawn_layers(neurons, random_)),
        means_(zeros_like(layers_)),
        squares_(means_),
        partial_(parts, means_) {}

  Layers run() {
    const std::size_t of_round = std::max<std::size_t>(1, choices_.size() / batch);
    const std::size_t steps = std::max(times_each * of_round, fewest_steps);
    std::vector<std::size_t> order;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t place = step % of_round;
      if (place == 0) order = shuffled(choices_.size(), random_);
      const double done = static_cast<double>(step) / static_cast<double>(steps);
      take_step(std::span(order).subspan(place * batch, std::min(batch, order.size() - place * batch)),
                first_rate * static_cast<float>(0.5 + 0.5 * std::cos(std::numbers::pi * done)));
    }
    return std::move(layers_);
  }

 private:
  void take_step(std::span<const std::size_t> places, float rate) {
    std::vector<const Choice*> chosen;
    for (const std::size_t place : places) chosen.push_back(&choices_[place]);
    tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
      for (Layer& layer : partial_[part]) layer.weights.setZero(), layer.biases.setZero();
      const std::size_t from = part * chosen.size() / parts, to = (part + 1) * chosen.size() / parts;
      if (from < to) add_gradient(layers_, std::span(chosen).subspan(from, to - from), partial_[part]);
    });
    grown_mean_ *= 1 - forgets_mean;
    grown_square_ *= 1 - forgets_square;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Layer sum = partial_.front()[i];
      for (std::size_t part = 1; part < parts; ++part) {
        sum.weights += partial_[part][i].weights;
        sum.biases += partial_[part][i].biases;
      }
      sum.weights /= static_cast<float>(chosen.size());
      sum.biases /= static_cast<float>(chosen.size());
      move(layers_[i].weights, sum.weights, means_[i].weights, squares_[i].weights, rate);
      move(layers_[i].biases, sum.biases, means_[i].biases, squares_[i].biases, rate);
    }
  }

  template <class Numbers>
  void move(Numbers& numbers, const Numbers& gradient, Numbers& mean, Numbers& square, float rate) const {
    mean += forgets_mean * (gradient - mean);
    square.array() += forgets_square * (gradient.array().square() - square.array());
    const auto spread = (square.array() / (1 - grown_square_)).sqrt() + 1e-8F;
    numbers.array() -= rate * (mean.array() / (1 - grown_mean_) / spread + decay * numbers.array());
  }

  const std::vector<Choice>& choices_;
  std::mt19937 random_{1};
  Layers layers_;
  Layers means_, squares_;                   // of the gradient, of late
  float grown_mean_ = 1, grown_square_ = 1;  // what of them is still the zero that they began with
  std::vector<Layers> partial_;              // gradients
};

struct Scale {
  VectorXf mean, spread;
};

Scale scale_of(const std::vector<Choice>& choices) {
  const Index count = features_of(choices.front()).cols();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(count), squares = sum;
  double rows = 0;
  for (const Choice& choice : choices) {
    const Eigen::MatrixXd features = features_of(choice).cast<double>();
    sum += features.colwise().sum().transpose();
    squares += features.array().square().matrix().colwise().sum().transpose();
    rows += static_cast<double>(features.rows());
  }
  const Eigen::VectorXd mean = sum / rows;
  const Eigen::VectorXd variance = squares / rows - mean.cwiseAbs2();
  return {mean.cast<float>(), variance.cwiseMax(1e-6).cwiseSqrt().cast<float>()};
}

}  // namespace

std::vector<double> train_network(std::span<const std::size_t> neurons, std::vector<Choice> choices) {
  const Scale scale = scale_of(choices);
  for (Choice& one : choices) {
    features_of(one).rowwise() -= scale.mean.transpose();
    features_of(one) *= scale.spread.cwiseInverse().asDiagonal();
  }
  Layers layers = Training(neurons, choices).run();
  Layer& first = layers.front();  // of features as they are
  first.weights = scale.spread.cwiseInverse().asDiagonal() * first.weights;
  first.biases -= first.weights.transpose() * scale.mean;
  std::vector<double> numbers;
  for (const Layer& layer : layers) {
    numbers.insert(numbers.end(), layer.biases.begin(), layer.biases.end());
    const auto weights = layer.weights.reshaped<Eigen::RowMajor>();
    numbers.insert(numbers.end(), weights.begin(), weights.end());
  }
  return numbers;
}

}  // namespace weft::calibration::fitting
