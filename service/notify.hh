// SPDX-License-Identifier: Apache-2.0
// What systemd wants to hear of a service of Type=notify, without its library.
#pragma once

#include <string_view>

namespace nvab {

// Sends "READY=1", "STOPPING=1", … to the socket that NOTIFY_SOCKET names; nothing when it names
// none. Trouble is nobody's: a service that cannot tell goes on.
void notify_systemd(std::string_view message);
// The state during a reload, with the time that systemd asks for.
void notify_reloading();

}  // namespace nvab
