// What each binding file adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace privroute {

void bind_assignment(nanobind::module_& module);
void bind_places(nanobind::module_& module);
void bind_bushes(nanobind::module_& module);
void bind_policy(nanobind::module_& module);
void bind_projection(nanobind::module_& module);
void bind_routes(nanobind::module_& module);
void bind_text(nanobind::module_& module);
void bind_trips(nanobind::module_& module);

}  // namespace privroute
