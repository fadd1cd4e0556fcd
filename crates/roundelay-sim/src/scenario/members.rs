//! Which group a flow is of.
//!
//! An agent that opens a flow does not know its group, and who listens does not know the agent. So each agent of a group is a [`Member`]: it writes
//! the group down for each flow that is opened, by it or by what it spawns, and flows are opened in the order in which they are written down.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::{Agent, Arrival, Command, Context};

/// Groups of the flows that are about to be opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Openings(Arc<Mutex<VecDeque<u32>>>);

impl Openings {
    fn push(&self, group: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(group);
    }

    /// The group of the next flow that is opened.
    pub(super) fn next(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
    }
}

/// An agent of a group.
pub(super) struct Member {
    agent: Box<dyn Agent>,
    group: u32,
    openings: Openings,
}

impl Member {
    pub(super) fn new(agent: Box<dyn Agent>, group: u32, openings: Openings) -> Self {
        Self { agent, group, openings }
    }

    /// Looks through what the agent has asked for.
    #[inline]
    fn note(&self, commands: &mut [Command]) {
        for command in commands {
            match command {
                Command::Open(..) => self.openings.push(self.group),
                Command::Spawn(agent, _) => {
                    let member = |agent| Box::new(Self::new(agent, self.group, self.openings.clone())) as Box<dyn Agent>;
                    *agent = agent.take().map(member);
                }
                _ => {}
            }
        }
    }
}

impl Agent for Member {
    #[inline]
    fn wake(&mut self, context: &mut Context<'_>) {
        let before = context.commands.len();
        self.agent.wake(context);
        self.note(&mut context.commands[before..]);
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let before = context.commands.len();
        self.agent.arrive(arrival, context);
        self.note(&mut context.commands[before..]);
    }
}
