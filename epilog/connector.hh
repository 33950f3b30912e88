// SPDX-License-Identifier: Apache-2.0
// Open MPI's words in our types: a framework is a role, a component is a candidate for it, what
// opens it is its settings. A component is constant data; nothing runs before it is opened, and
// nothing registers itself: the list is epilog/registry.cc.
//
// Life: find in the table -> settings checked against the spec -> query (can this machine do it?)
// -> open (may fail) -> collect or write -> destroyed.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "common/base/result.hh"
#include "common/base/settings.hh"
#include "epilog/auth/credentials.hh"
#include "epilog/collector.hh"
#include "epilog/host.hh"
#include "epilog/probe.hh"

namespace nvab {

// Whether a component can work on this machine; if not, why not.
struct Availability {
  bool usable = true;
  std::string reason;
};

template <typename Interface>
struct Component {
  ComponentSpec spec;
  // Null: always usable. Must not write anything.
  Availability (*query)(const Host& host) = nullptr;
  // Errors: malformed settings (what the spec alone cannot check), or what stands in the way.
  Result<std::unique_ptr<Interface>> (*open)(const ComponentSettings& settings,
                                             Host& host) = nullptr;
  // For --doctor: a tiny query, a look at each path. Null: that it can be opened is all there is to
  // know. Stops at Host::deadline; must not write anything but what it removes again.
  ProbeFindings (*probe)(const ComponentSettings& settings, Host& host) = nullptr;
};

using EcaComponent = Component<ContextSource>;
using CollectorComponent = Component<Collector>;
using OutputComponent = Component<Output>;
using AuthComponent = Component<Credentials>;

// epilog/registry.cc. The frameworks log and metric are both collectors.
std::span<const EcaComponent* const> eca_components();
std::span<const CollectorComponent* const> collector_components();
std::span<const OutputComponent* const> output_components();
std::span<const AuthComponent* const> auth_components();

// All that can be set: [run] and every component. Lives as long as the process.
std::span<const ComponentSpec> all_specs();

template <typename Interface>
const Component<Interface>* find_component(std::span<const Component<Interface>* const> components,
                                           const ComponentSpec& spec) {
  for (const Component<Interface>* component : components) {
    if (component->spec.framework == spec.framework && component->spec.name == spec.name) {
      return component;
    }
  }
  return nullptr;
}

}  // namespace nvab
