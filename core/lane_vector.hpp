// Vectors with one pair per lane, for the projection kernels. Included by one file per instruction set, which defines
// PRIVROUTE_LANES (doubles per vector); everything is in an unnamed namespace: see projection_problem.hpp for why.
#pragma once

#include <stdint.h>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace privroute {
namespace {

constexpr int lanes = PRIVROUTE_LANES;
typedef double Vec __attribute__((vector_size(lanes * sizeof(double))));
typedef int64_t Mask __attribute__((vector_size(lanes * sizeof(double))));

inline Vec all(double value) { return value - Vec{}; }

// min(max(z, 0), 1), and 0 where z is not a number. Compilers do not make the two instructions of the comparisons.
inline Vec clip(Vec z) {
#if PRIVROUTE_LANES == 8 && defined(__AVX512F__)
    return _mm512_min_pd(_mm512_max_pd(z, _mm512_setzero_pd()), _mm512_set1_pd(1.0));
#elif PRIVROUTE_LANES == 4 && defined(__AVX2__)
    return _mm256_min_pd(_mm256_max_pd(z, _mm256_setzero_pd()), _mm256_set1_pd(1.0));
#else
    z = z > 0.0 ? z : all(0.0);
    return z < 1.0 ? z : all(1.0);
#endif
}

inline Vec magnitude(Vec a) { return a < 0.0 ? -a : a; }

inline double& lane_of(Vec* values, int64_t i, int lane) { return reinterpret_cast<double*>(values)[i * lanes + lane]; }

// One value of each lane's own array.
inline Vec gather(const double* const* from, int64_t i) {
#if PRIVROUTE_LANES == 4
    return Vec{from[0][i], from[1][i], from[2][i], from[3][i]};
#else
    Vec values;
    for (int l = 0; l < lanes; ++l) values[l] = from[l][i];
    return values;
#endif
}
inline void scatter(double* const* to, int64_t i, Vec values) {
    for (int l = 0; l < lanes; ++l) to[l][i] = values[l];
}

}  // namespace
}  // namespace privroute
