//! What the poller learns from elsewhere than from looking.

use std::sync::{Arc, Mutex, PoisonError};

use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::SeenMembers;
use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::memory::Memory;

/// Something to be known from the next look on.
pub(crate) enum News {
    /// What an earlier run knew.
    Recalled(Box<Memory>),
    /// Who is in a group.
    Members(GroupId, SeenMembers),
    /// What is known is about another cluster.
    AnotherCluster,
}

/// Where it is put, until the poller takes it.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<Vec<News>>>);

impl Inbox {
    pub(crate) fn put(&self, news: News) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(news);
    }

    /// Puts in who is in a group, as somebody has just asked.
    pub(crate) fn put_members(&self, group: GroupId, detail: &GroupDetail) {
        let mut members = SeenMembers { at: detail.at, count: detail.member_count, clients: Vec::new() };
        for member in &detail.members {
            let client = (member.client_id.clone(), member.host.clone());
            if members.clients.len() < unstuck_diagnosis::history::MEMBERS_CAP && !members.clients.contains(&client) {
                members.clients.push(client);
            }
        }
        self.put(News::Members(group, members));
    }

    /// Takes everything that was put in, into a memory.
    pub(crate) fn empty_into(&self, memory: &mut Memory) {
        let news = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for news in news {
            match news {
                News::Recalled(earlier) => memory.recall(*earlier),
                News::Members(group, members) => memory.see_members(&group, members),
                News::AnotherCluster => *memory = Memory::new(memory.looked_until),
            }
        }
    }
}
