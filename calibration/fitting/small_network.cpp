#include "calibration/fitting/small_network.hpp"

#include <tbb/parallel_for.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <type_traits>
#include <utility>

namespace weft::calibration::fitting {
namespace {

using Eigen::Index;
using Eigen::VectorXf;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t batch = 64, parts = 4;  ///< examples of a step; what is summed up by itself, on any thread
constexpr float decay = 1e-4F, forgets_mean = 0.1F, forgets_square = 1e-3F;

/// So often each example is learned from, or more often; how fast at first.
struct Course {
  std::size_t times_each = 0, fewest_steps = 0;
  float first_rate = 0;
};
constexpr Course of_choices{10, 3000, 3e-3F}, of_amounts{60, 3000, 3e-3F}, of_further_amounts{10, 0, 1e-3F};

Index rows_of(const Choice& choice) { return static_cast<Index>(choice.rows); }
Index rows_of(const Amount& /*amount*/) { return 1; }

auto features_of(auto& example) {
  using Rows = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(example)>>, const Matrix, Matrix>;
  const Index rows = rows_of(example);
  return Eigen::Map<Rows>(example.features.data(), rows, static_cast<Index>(example.features.size()) / rows);
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

/// Of minus the log-likelihood, by the scores of the rows: what each is likely to be chosen, less one for the row that
/// is.
void set_gradient(const Choice& choice, Eigen::Ref<Matrix> scores) {
  scores = (scores.array() - scores.maxCoeff()).exp();
  scores /= scores.sum();
  scores(static_cast<Index>(choice.chosen), 0) -= 1;
}

/// Of the distance, whose unit is the usual one.
void set_gradient(const Amount& amount, Eigen::Ref<Matrix> scores) {
  const float distance = amount.share * scores(0, 0) - amount.found;
  scores(0, 0) = amount.share * distance / std::sqrt(1 + distance * distance);
}

/// Adds the gradient of what some examples cost.
template <class Example>
void add_gradient(const Layers& layers, std::span<const Example* const> examples, Layers& gradient) {
  Index rows = 0;
  for (const Example* one : examples) rows += rows_of(*one);
  std::vector<Matrix> inputs{Matrix(rows, layers.front().weights.rows())};
  Index row = 0;
  for (const Example* one : examples) {
    inputs.front().middleRows(row, rows_of(*one)) = features_of(*one);
    row += rows_of(*one);
  }
  for (const Layer& layer : layers) {
    Matrix outputs = (inputs.back() * layer.weights).rowwise() + layer.biases.transpose();
    if (&layer != &layers.back()) outputs = outputs.cwiseMax(passed_below_zero * outputs);
    inputs.push_back(std::move(outputs));
  }
  Matrix back = std::move(inputs.back());
  row = 0;
  for (const Example* one : examples) {
    set_gradient(*one, back.middleRows(row, rows_of(*one)));
    row += rows_of(*one);
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    gradient[i].weights.noalias() += inputs[i].transpose() * back;
    gradient[i].biases += back.colwise().sum().transpose();
    if (i == 0) break;
    Matrix before = back * layers[i].weights.transpose();
    back = (inputs[i].array() > 0).select(before, passed_below_zero * before);
  }
}

template <class Example>
class Training {
 public:
  Training(Layers layers, const std::vector<Example>& examples, const Course& course, std::mt19937& random)
      : examples_(examples),
        course_(course),
        random_(random),
        layers_(std::move(layers)),
        means_(zeros_like(layers_)),
        squares_(means_),
        partial_(parts, means_) {}

  Layers run() {
    const std::size_t of_round = std::max<std::size_t>(1, examples_.size() / batch);
    const std::size_t steps = std::max(course_.times_each * of_round, course_.fewest_steps);
    std::vector<std::size_t> order;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t place = step % of_round;
      if (place == 0) order = shuffled(examples_.size(), random_);
      const double done = static_cast<double>(step) / static_cast<double>(steps);
      take_step(std::span(order).subspan(place * batch, std::min(batch, order.size() - place * batch)),
                course_.first_rate * static_cast<float>(0.5 + 0.5 * std::cos(std::numbers::pi * done)));
    }
    return std::move(layers_);
  }

 private:
  void take_step(std::span<const std::size_t> places, float rate) {
    std::vector<const Example*> taken;
    for (const std::size_t place : places) taken.push_back(&examples_[place]);
    tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
      for (Layer& layer : partial_[part]) layer.weights.setZero(), layer.biases.setZero();
      const std::size_t from = part * taken.size() / parts, to = (part + 1) * taken.size() / parts;
      if (from < to)
        add_gradient(layers_, std::span<const Example* const>(taken).subspan(from, to - from), partial_[part]);
    });
    grown_mean_ *= 1 - forgets_mean;
    grown_square_ *= 1 - forgets_square;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Layer sum = partial_.front()[i];
      for (std::size_t part = 1; part < parts; ++part) {
        sum.weights += partial_[part][i].weights;
        sum.biases += partial_[part][i].biases;
      }
      sum.weights /= static_cast<float>(taken.size());
      sum.biases /= static_cast<float>(taken.size());
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

  const std::vector<Example>& examples_;
  const Course& course_;
  std::mt19937& random_;
  Layers layers_;
  Layers means_, squares_;                   // of the gradient, of late
  float grown_mean_ = 1, grown_square_ = 1;  // what of them is still the zero that they began with
  std::vector<Layers> partial_;              // gradients
};

struct Scale {
  VectorXf mean, spread;
};

Scale scale_of(const auto& examples) {
  const Index count = features_of(examples.front()).cols();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(count), squares = sum;
  double rows = 0;
  for (const auto& one : examples) {
    const Eigen::MatrixXd features = features_of(one).template cast<double>();
    sum += features.colwise().sum().transpose();
    squares += features.array().square().matrix().colwise().sum().transpose();
    rows += static_cast<double>(features.rows());
  }
  const Eigen::VectorXd mean = sum / rows;
  const Eigen::VectorXd variance = squares / rows - mean.cwiseAbs2();
  return {mean.cast<float>(), variance.cwiseMax(1e-6).cwiseSqrt().cast<float>()};
}

/// Layers of features as they are, for such that are scaled.
void scale_inputs(Layer& first, const Scale& scale) {
  first.biases += first.weights.transpose() * scale.mean;
  first.weights = scale.spread.asDiagonal() * first.weights;
}

/// And back.
void unscale_inputs(Layer& first, const Scale& scale) {
  first.weights = scale.spread.cwiseInverse().asDiagonal() * first.weights;
  first.biases -= first.weights.transpose() * scale.mean;
}

void scale_outputs(Layer& last, double factor) {
  last.weights *= static_cast<float>(factor);
  last.biases *= static_cast<float>(factor);
}

NetworkWeights numbers_of(const Layers& layers) {
  NetworkWeights numbers;
  for (const Layer& layer : layers) {
    numbers.insert(numbers.end(), layer.biases.begin(), layer.biases.end());
    const auto weights = layer.weights.reshaped<Eigen::RowMajor>();
    numbers.insert(numbers.end(), weights.begin(), weights.end());
  }
  return numbers;
}

void set_numbers(Layers& layers, const NetworkWeights& numbers) {
  auto next = numbers.begin();
  for (Layer& layer : layers) {
    for (float& bias : layer.biases) bias = *next++;
    for (float& weight : layer.weights.reshaped<Eigen::RowMajor>()) weight = *next++;
  }
}

void scale_features(auto& examples, const Scale& scale) {
  for (auto& one : examples) {
    features_of(one).rowwise() -= scale.mean.transpose();
    features_of(one) *= scale.spread.cwiseInverse().asDiagonal();
  }
}

}  // namespace

NetworkWeights learn_choices(std::span<const std::size_t> neurons, std::vector<Choice> choices) {
  const Scale scale = scale_of(choices);
  scale_features(choices, scale);
  std::mt19937 random(1);
  Layers layers = drawn_layers(neurons, random);
  layers = Training<Choice>(std::move(layers), choices, of_choices, random).run();
  unscale_inputs(layers.front(), scale);
  return numbers_of(layers);
}

NetworkWeights learn_amounts(std::span<const std::size_t> neurons, std::vector<Amount> amounts, double usual_distance,
                             const NetworkWeights& before) {
  const Scale scale = scale_of(amounts);
  scale_features(amounts, scale);
  for (Amount& one : amounts) one.found /= static_cast<float>(usual_distance);
  std::mt19937 random(1);
  Layers layers = drawn_layers(neurons, random);
  if (!before.empty()) {
    set_numbers(layers, before);
    scale_inputs(layers.front(), scale);
    scale_outputs(layers.back(), 1 / usual_distance);
  }
  const Course& course = before.empty() ? of_amounts : of_further_amounts;
  layers = Training<Amount>(std::move(layers), amounts, course, random).run();
  unscale_inputs(layers.front(), scale);
  scale_outputs(layers.back(), usual_distance);
  return numbers_of(layers);
}

}  // namespace weft::calibration::fitting
