// The width of AVX-512 without its instructions: machines that lack them can still test that width.
#define PRIVROUTE_LANES 8
#define PRIVROUTE_KERNEL project_lanes_plain8
#include "projection_lanes.hpp"
