//! Values that may be written in more than one way. Read by hand, because an untagged enum cannot say what is allowed.
//! TOML hands over whole numbers as i64, JSON (an action that comes over HTTP) as u64.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::model::{Member, Members, Offsets, Setting};

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Setting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a setting's value: text, a whole number, true or false")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Setting, E> {
                Ok(Setting::Bool(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Setting, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Setting, E> {
                Ok(Setting::Number(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Setting, E> {
                Ok(Setting::Text(value.to_owned()))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("how many members, or a list of members such as `[{ client-id = \"billing-1\" }]`")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Members, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Members, E> {
                u32::try_from(value)
                    .map(Members::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = items.next_element::<Member>()? {
                    members.push(member);
                }
                Ok(Members::Each(members))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for Offsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = Offsets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one offset for all partitions, or a list with one per partition (-1: none)")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Offsets, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Offsets, E> {
                Ok(Offsets::Each(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Offsets, A::Error> {
                let mut offsets = Vec::new();
                while let Some(offset) = items.next_element::<i64>()? {
                    offsets.push(offset);
                }
                Ok(Offsets::By(offsets))
            }
        }

        deserializer.deserialize_any(Written)
    }
}
