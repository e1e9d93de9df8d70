#include "projection.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <new>
#include <stdexcept>
#include <thread>

#include "projection_exact.hpp"
#include "projection_scaling.hpp"

namespace privroute {
namespace {

constexpr std::int64_t rows_at_once = 16;  // taken by a thread in one go
constexpr auto between_stops = std::chrono::milliseconds(20);
constexpr double worth_a_thread_s = 2.5e-3;  // starting one costs about 0.1 ms; below this it does not pay

struct Choice {
    const char* name;
    std::size_t lanes;
    LaneKernel kernel;
    bool runs;
};

std::vector<Choice> choices() {
    std::vector<Choice> all;
#if defined(PRIVROUTE_X86)
    __builtin_cpu_init();
    all.push_back(
        {"avx512", 8, project_lanes_avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")});
    all.push_back({"avx2", 4, project_lanes_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")});
#endif
    all.push_back({"plain", 4, project_lanes_plain, true});
    all.push_back({"plain8", 8, project_lanes_plain8, true});
    return all;
}

// The widest kernel, or the one asked for. "exact" and "scaling" leave out the steps before them, for tests.
const Choice& choose(const std::string& name) {
    static const std::vector<Choice> all = choices();
    static const Choice none{"none", 0, nullptr, true};
    if (name == "exact" || name == "scaling") return none;
    for (const Choice& choice : all)
        if (choice.runs && (name.empty() || name == choice.name)) return choice;
    throw std::invalid_argument("this machine cannot run the instruction set " + name);
}

// Rows handed out to threads in order.
struct Queue {
    std::atomic<std::int64_t> next{0};
    std::int64_t count = 0;
    std::atomic<bool> stopped{false};
};

// One thread's view of the queue. Only the calling thread has a stop function, and asks it at intervals.
struct Worker {
    Queue& queue;
    bool (*stop)();
    std::int64_t here = 0, end = 0;
    std::chrono::steady_clock::time_point asked = std::chrono::steady_clock::now();

    bool stopped() {
        if (stop && std::chrono::steady_clock::now() - asked > between_stops) {
            if (stop()) queue.stopped = true;
            asked = std::chrono::steady_clock::now();
        }
        return queue.stopped;
    }
    std::int64_t take() {
        if (here == end) {
            if (stopped()) return -1;
            here = queue.next.fetch_add(rows_at_once);
            end = std::min(here + rows_at_once, queue.count);
            if (here >= end) return here = end = -1;
        }
        return here++;
    }
    static std::int64_t next(void* self) { return static_cast<Worker*>(self)->take(); }
    static bool should_stop(void* self) { return static_cast<Worker*>(self)->stopped(); }
};

// Runs work(worker) on `threads` threads, the calling one among them.
template <typename Work>
void on_threads(Queue& queue, int threads, bool (*stop)(), const Work& work) {
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i)
        others.emplace_back([&] {
            Worker worker{queue, nullptr};
            work(worker);
        });
    Worker worker{queue, stop};
    work(worker);
    for (std::thread& other : others) other.join();
}

// Hands all rows on to the exact solver.
void leave(const ProjectionRows& rows, Worker& worker, std::int64_t links) {
    for (std::int64_t row = worker.take(); row >= 0; row = worker.take()) {
        const std::int64_t first = rows.route_start ? rows.route_start[row] : row * links;
        const std::int64_t last = rows.route_start ? rows.route_start[row + 1] : first + links;
        const auto fits = [&](double v) { return std::abs(v) <= rows.largest_point; };
        const bool usable = std::all_of(rows.points + first, rows.points + last, fits);
        rows.state[row] = usable ? RowState::failed : RowState::unusable;
    }
}

struct Workspace {
    explicit Workspace(std::size_t bytes) : memory(::operator new(bytes, std::align_val_t{lane_alignment})) {}
    ~Workspace() { ::operator delete(memory, std::align_val_t{lane_alignment}); }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    void* memory;
};

}  // namespace

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const Choice& choice : choices())
        if (choice.runs) names.emplace_back(choice.name);
    return names;
}

ProjectionOutcome project_rows(const ProjectionPlan& plan, ProjectionRows rows, std::int64_t count, int threads,
                               const std::string& instruction_set, bool (*stop)()) {
    const Choice& choice = choose(instruction_set);
    const LaneGraph graph = plan.lanes();
    std::vector<RowState> state(static_cast<std::size_t>(count), RowState::waiting);
    rows.state = state.data();
    const double seconds = plan.expected_seconds() * static_cast<double>(count);
    const int paying = static_cast<int>(std::clamp(seconds / worth_a_thread_s, 1.0, 1024.0));

    Queue queue;
    queue.count = count;
    on_threads(queue, std::min(threads, paying), stop, [&](Worker& worker) {
        if (!choice.kernel) return leave(rows, worker, graph.all_links);
        const Workspace workspace(lane_workspace(graph, choice.lanes));
        choice.kernel(graph, rows, {Worker::next, &worker}, workspace.memory);
    });

    ProjectionOutcome outcome;
    std::vector<std::int64_t> left;
    for (std::int64_t k = 0; k < count; ++k) {
        if (state[static_cast<std::size_t>(k)] == RowState::failed) left.push_back(k);
        if (state[static_cast<std::size_t>(k)] == RowState::unusable && outcome.unusable < 0) outcome.unusable = k;
    }
    outcome.exact = static_cast<std::int64_t>(left.size());
    if (!queue.stopped && outcome.unusable < 0 && !left.empty()) {
        Queue rest;
        rest.count = outcome.exact;
        std::atomic<std::int64_t> scaled{0};
        on_threads(rest, static_cast<int>(std::min<std::int64_t>(threads, outcome.exact)), stop, [&](Worker& worker) {
            ExactProjection exact(plan);
            ScalingProjection scaling(plan);
            for (std::int64_t i = worker.take(); i >= 0 && !worker.stopped(); i = worker.take()) {
                const std::int64_t row = left[static_cast<std::size_t>(i)];
                if (instruction_set != "scaling" && exact.run(rows, row, Worker::should_stop, &worker)) continue;
                scaling.run(rows, row, Worker::should_stop, &worker);
                ++scaled;
            }
        });
        outcome.scaled = scaled;
        queue.stopped = queue.stopped || rest.stopped;
    }
    outcome.stopped = queue.stopped;
    return outcome;
}

}  // namespace privroute
