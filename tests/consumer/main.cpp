#include <iostream>
#include <weft/weft.hpp>

int main() try {
  const weft::Profile machine("h200x8-nvswitch");
  weft::Case projection{.id = "down projection", .gpus = 4};
  projection.workload = {{"op", "gemm+reduce_scatter"}, {"m", 8192}, {"n", 8192}, {"k", 7168}};

  const weft::Ranking ranking = machine.choose(projection, weft::Among::runnable);
  for (const weft::RankedSchedule& one : ranking.fastest_first)
    std::cout << one.name << ": " << one.time_us << " us, " << one.speedup << " times as fast as serial\n";
  std::cout << (ranking.overlap_pays() ? "overlap pays" : "overlap does not pay") << '\n';

  projection.schedule = ranking.advice().schedule;
  for (const auto& span : machine.simulate(machine.build(projection)).spans)
    if (span.gpu == 0) std::cout << span.operation << " ends after " << span.end_us << " us\n";
} catch (const weft::InputError& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
