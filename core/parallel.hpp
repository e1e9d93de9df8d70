// Independent work items on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace privroute {

// Calls body(worker, item) for every item in [0, items); worker < threads names the thread, for its own buffers.
// The first exception is rethrown here once all threads have ended.
template <typename Body>
void parallel_for(std::size_t items, int threads, Body&& body) {
    const auto workers = std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), items);
    if (workers <= 1) {
        for (std::size_t item = 0; item < items; ++item) body(std::size_t{0}, item);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto work = [&](std::size_t worker) {
        try {
            for (std::size_t item = next++; item < items; item = next++) body(worker, item);
        } catch (...) {
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
            next = items;
        }
    };
    {
        std::vector<std::jthread> crew;
        for (std::size_t worker = 1; worker < workers; ++worker) crew.emplace_back(work, worker);
        work(0);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace privroute
