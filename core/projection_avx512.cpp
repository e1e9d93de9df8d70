#define PRIVROUTE_LANES 8
#define PRIVROUTE_KERNEL project_lanes_avx512
#include "projection_lanes.hpp"
