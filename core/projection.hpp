// Projection of many rows: vector kernel, exact solver for what it leaves, threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "projection_plan.hpp"
#include "projection_problem.hpp"

namespace privroute {

// Instruction sets that this machine can run, the fastest first ("avx512", "avx2", "plain", "plain8").
std::vector<std::string> instruction_sets();

struct ProjectionOutcome {
    std::int64_t unusable = -1;  // first row whose point is not finite or too large
    std::int64_t exact = 0;      // rows that the vector kernel left to the exact solver
    std::int64_t scaled = 0;     // rows that this left to scaling
    bool stopped = false;
};

// `stop` is called from the calling thread only, now and then; true ends the work early.
ProjectionOutcome project_rows(const ProjectionPlan& plan, ProjectionRows rows, std::int64_t count, int threads,
                               const std::string& instruction_set, bool (*stop)());

}  // namespace privroute
