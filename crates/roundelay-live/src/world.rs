//! World: three network namespaces in a row, near, middle and far. Traffic between near and far
//! goes through the middle, and there is the bottleneck.
//!
//! The namespaces have no names. They end with the last process that holds them, however it ends,
//! so nothing is left to undo. An ordinary user makes them in a user namespace, because there this
//! user is root.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use thiserror::Error;

use crate::offloads;
use crate::sys;

/// The near end's address.
pub const NEAR: &str = "10.77.0.1";
/// The far end's address.
pub const FAR: &str = "10.77.0.2";
const NEAR_V6: &str = "fd77::1";
const FAR_V6: &str = "fd77::2";
/// The interface's name at both ends.
const END: &str = "eth0";
/// The middle's interfaces, towards near and far.
pub const MIDDLE: [&str; 2] = ["near0", "far0"];

/// Where something is in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// Where the first command runs.
    Near,
    /// Where the second command runs.
    Far,
    /// Where the bottleneck is.
    Middle,
}

/// The namespaces.
#[derive(Debug)]
pub struct World {
    near: OwnedFd,
    far: OwnedFd,
    middle: OwnedFd,
}

/// Why the world cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The system allows no namespaces.
    #[error(
        "no network namespaces here ({0}): run as root, or allow ordinary users to make user \
         namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, \
         kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Forbidden(io::Error),
    /// The command `ip` is missing or failed.
    #[error("{0}")]
    Ip(String),
    /// Another call failed.
    #[error("{what}: {error}")]
    Call {
        /// What was tried.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

/// Whether this process is root in its user namespace.
pub fn is_root() -> bool {
    sys::is_root()
}

/// Turns a call's error into ours.
fn failed(what: &str) -> impl FnOnce(io::Error) -> WorldError {
    let what = what.to_owned();
    move |error| WorldError::Call { what, error }
}

impl World {
    /// Makes the namespaces, with addresses at both ends, and leaves this thread in the middle. The
    /// process must have a single thread.
    ///
    /// # Errors
    /// The system does not allow it, or iproute2's `ip` is missing.
    pub fn build() -> Result<Self, WorldError> {
        if !sys::is_root() {
            become_root()?;
        }
        let [near, far, middle] = [new_namespace()?, new_namespace()?, new_namespace()?];
        let world = Self { near, far, middle };
        world.enter(Node::Middle)?;
        // A bottleneck has no addresses, not even those that IPv6 gives itself.
        let quiet = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
        if fs::exists(quiet).unwrap_or(false) {
            fs::write(quiet, "1").map_err(failed(quiet))?;
        }
        for (ours, node) in MIDDLE.into_iter().zip([Node::Near, Node::Far]) {
            let namespace = world.namespace(node).as_raw_fd();
            let theirs = format!("/proc/{}/fd/{namespace}", std::process::id());
            ip(&[
                "link", "add", "name", ours, "type", "veth", "peer", "name", END, "netns", &theirs,
            ])?;
            ip(&["link", "set", "dev", ours, "up"])?;
            offloads::turn_off(ours).map_err(failed("offloads of the middle"))?;
        }
        for (node, v4, v6) in [(Node::Near, NEAR, NEAR_V6), (Node::Far, FAR, FAR_V6)] {
            world.enter(node)?;
            // The sender makes each packet with its checksum, as it has to be on the link.
            offloads::turn_off(END).map_err(failed("offloads of the ends"))?;
            ip(&["link", "set", "dev", END, "gso_max_segs", "1"])?;
            ip(&["link", "set", "dev", "lo", "up"])?;
            ip(&["link", "set", "dev", END, "up"])?;
            ip(&["addr", "add", &format!("{v4}/24"), "dev", END])?;
            if fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
                let v6 = format!("{v6}/64");
                ip(&["-6", "addr", "add", &v6, "dev", END, "nodad"])?;
            }
        }
        world.enter(Node::Middle)?;
        Ok(world)
    }

    const fn namespace(&self, node: Node) -> &OwnedFd {
        match node {
            Node::Near => &self.near,
            Node::Far => &self.far,
            Node::Middle => &self.middle,
        }
    }

    /// Moves this thread.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn enter(&self, node: Node) -> Result<(), WorldError> {
        sys::enter(sys::as_fd(self.namespace(node))).map_err(failed("entering a namespace"))
    }

    /// Starts a command at a node. The command ends when this process does. Afterwards this thread
    /// is in the middle.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(&self, node: Node, command: &mut Command) -> Result<Child, WorldError> {
        self.enter(node)?;
        sys::end_with_us(command);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(failed(&name));
        self.enter(Node::Middle)?;
        child
    }

    /// Whether somebody listens at a node. Afterwards this thread is in the middle.
    ///
    /// # Errors
    /// The system does not let us enter.
    pub fn has_listener(&self, node: Node) -> Result<bool, WorldError> {
        self.enter(node)?;
        let listens = has_listener();
        self.enter(Node::Middle)?;
        Ok(listens)
    }

    /// TCP's default congestion control at the ends.
    ///
    /// # Errors
    /// The system does not let us enter.
    pub fn congestion_control(&self) -> Result<String, WorldError> {
        self.enter(Node::Near)?;
        let name = fs::read_to_string(CONGESTION_CONTROL).unwrap_or_default();
        self.enter(Node::Middle)?;
        Ok(name.trim().to_owned())
    }

    /// Sets TCP's default congestion control at both ends.
    ///
    /// # Errors
    /// The system does not have it, or does not allow it here.
    pub fn set_congestion_control(&self, name: &str) -> Result<(), WorldError> {
        for node in [Node::Near, Node::Far] {
            self.enter(node)?;
            let written = fs::write(CONGESTION_CONTROL, name);
            let found = fs::read_to_string(CONGESTION_CONTROL).unwrap_or_default();
            let allowed = fs::read_to_string(ALLOWED).or_else(|_| fs::read_to_string(KNOWN));
            let allowed = allowed.unwrap_or_default();
            self.enter(Node::Middle)?;
            if written.is_err() || found.trim() != name {
                return Err(WorldError::Ip(format!(
                    "congestion control {name}: this system allows here: {}; its administrator may \
                     allow more (sysctl net.ipv4.tcp_allowed_congestion_control)",
                    allowed.trim()
                )));
            }
        }
        Ok(())
    }
}

const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// What a namespace may have as its default, and what the system knows.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Sets a connection's congestion control. With privileges, this may be one that cannot be a
/// namespace's default.
///
/// # Errors
/// The system does not know it, or does not allow it.
pub fn set_congestion_control(connection: &TcpStream, name: &str) -> io::Result<()> {
    sys::set_congestion_control(connection, name)
}

/// Whether somebody listens for TCP, or has a UDP port, in this thread's namespace.
fn has_listener() -> bool {
    let listens = |file: &str, state: &str| {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        table
            .lines()
            .skip(1)
            .any(|line| line.split_whitespace().nth(3) == Some(state))
    };
    // The states are TCP_LISTEN, and TCP_CLOSE for a UDP socket without a peer.
    listens("tcp", "0A") || listens("tcp6", "0A") || listens("udp", "07") || listens("udp6", "07")
}

/// Makes a new network namespace, which this thread then is in.
fn new_namespace() -> Result<OwnedFd, WorldError> {
    sys::new_network_namespace().map_err(WorldError::Forbidden)?;
    let file = fs::File::open("/proc/thread-self/ns/net").map_err(failed("a new namespace"))?;
    Ok(file.into())
}

/// Makes this process root in its own user namespace.
fn become_root() -> Result<(), WorldError> {
    let (user, group) = sys::user_and_group();
    sys::new_user_namespace()
        .and_then(|()| sys::call_root(user, group))
        .map_err(WorldError::Forbidden)
}

/// Runs iproute2's `ip`.
fn ip(words: &[&str]) -> Result<(), WorldError> {
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output = output
        .map_err(|error| WorldError::Ip(format!("cannot run ip: {error}; install iproute2")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(WorldError::Ip(format!(
        "ip {}: {}",
        words.join(" "),
        message.trim()
    )))
}
