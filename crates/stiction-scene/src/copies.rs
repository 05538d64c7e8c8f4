//! Rows, walls and blocks of equal bodies, written once.
//!
//! A body with `copies` stands for as many bodies as its counts multiply to. They take its place in
//! the list before anything else is read, so that whatever is wrong with one of them is wrong where
//! it was written, and so that a resolved scene names each of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, Entry, Node, Origin, Value};
use crate::place::{Fault, Place};
use crate::read::read_part;

/// The most copies of one body.
const MOST_COPIES: usize = 100_000;

/// Copies of a body in a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CopiesEntry {
    /// Number of bodies along each axis of the world, at least one: two numbers in the plane, three
    /// in space. The bodies are named after their numbers, from 1, along the axes that have
    /// several: `brick-2-5`.
    #[schemars(length(min = 2, max = 3))]
    pub count: Vec<usize>,
    /// Distance from one body to the next along each axis in metres; the first stands at the
    /// position of the body.
    #[schemars(length(min = 2, max = 3))]
    pub spacing: Vec<f64>,
    /// Moves every second layer, along the last axis that has several, by this in metres: the
    /// bond of a wall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 3))]
    pub stagger: Option<Vec<f64>>,
}

impl Document {
    /// Puts the copies of bodies into the list. Returns whether there are any.
    pub(crate) fn expand_copies(&mut self) -> Result<bool, Fault> {
        let Some(Value::List(bodies)) = self.root.get("body").map(|node| &node.value) else { return Ok(false) };
        if bodies.iter().all(|body| body.get("copies").is_none()) {
            return Ok(false);
        }
        let mut expanded = Vec::new();
        for (index, body) in bodies.iter().enumerate() {
            let place = Place::top("body").index(index).key("copies");
            match body.get("copies") {
                Some(node) => {
                    let entry: CopiesEntry = read_part(self, &place, node)?;
                    entry.check(&place)?;
                    expanded.extend(entry.numbers().map(|numbers| entry.copy(body, &numbers)));
                }
                None => expanded.push(body.clone()),
            }
        }
        if let Value::Table(entries) = &mut self.root.value
            && let Some(list) = entries.iter_mut().find(|entry| entry.key == "body")
        {
            list.node.value = Value::List(expanded);
        }
        Ok(true)
    }
}

impl CopiesEntry {
    fn check(&self, place: &Place) -> Result<(), Fault> {
        let axes = self.count.len();
        let lists = [("spacing", Some(self.spacing.len())), ("stagger", self.stagger.as_ref().map(Vec::len))];
        for (key, length) in lists {
            if length.is_some_and(|length| length != axes) {
                let message = format!("`count` has {axes} numbers, and `{key}` has {}", length.unwrap_or(0));
                return Err(place.key(key).fault(message, "give one number for each axis of the scene"));
            }
        }
        let count = place.key("count");
        if self.count.contains(&0) {
            return Err(count.fault("a body cannot be copied 0 times", "give 1 along axes without copies"));
        }
        let total = self.count.iter().try_fold(1usize, |total, &count| total.checked_mul(count));
        if total.is_none_or(|total| total > MOST_COPIES) {
            let message = format!("more than {MOST_COPIES} copies of one body");
            return Err(count.fault(message, "give smaller counts"));
        }
        Ok(())
    }

    /// The numbers of the copies along the axes, from zero; the last axis changes slowest, so that
    /// layers follow each other.
    fn numbers(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        (0..self.count.iter().product()).map(|mut rest: usize| {
            let along = |&count: &usize| {
                let number = rest % count;
                rest /= count;
                number
            };
            self.count.iter().map(along).collect()
        })
    }

    fn copy(&self, body: &Node, numbers: &[usize]) -> Node {
        let layer = self.count.iter().rposition(|&count| count > 1);
        let is_moved = layer.is_some_and(|axis| numbers[axis] % 2 == 1);
        let shift = |axis: usize| {
            let stagger = self.stagger.as_ref().filter(|_| is_moved).map_or(0.0, |stagger| stagger[axis]);
            numbers[axis] as f64 * self.spacing[axis] + stagger
        };
        let mut copy = body.clone();
        let Value::Table(entries) = &mut copy.value else { return copy };
        entries.retain(|entry| entry.key != "copies");
        if let Some(Value::Text(name)) = entries.iter_mut().find(|e| e.key == "name").map(|e| &mut e.node.value) {
            for (number, _) in numbers.iter().zip(&self.count).filter(|(_, count)| **count > 1) {
                name.push_str(&format!("-{}", number + 1));
            }
        }
        match entries.iter_mut().find(|entry| entry.key == "position").map(|entry| &mut entry.node.value) {
            Some(Value::List(position)) => {
                for (axis, node) in position.iter_mut().enumerate().take(numbers.len()) {
                    node.value = match node.value {
                        Value::Float(x) => Value::Float(x + shift(axis)),
                        Value::Integer(x) => Value::Float(x as f64 + shift(axis)),
                        ref other => other.clone(),
                    };
                }
            }
            Some(_) => {}
            None => {
                let origin = || body.origin.clone();
                let number = |axis| Node { value: Value::Float(shift(axis)), origin: origin() };
                let node = Node { value: Value::List((0..numbers.len()).map(number).collect()), origin: origin() };
                entries.push(Entry { key: "position".to_owned(), key_origin: Origin::Program, node });
            }
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use crate::load::parse;

    const WALL: &str = r#"format = 1
name = "wall"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = { step = 0.01, end = 0.1 }
[[material]]
name = "stone"
friction = 0.5
[[body]]
name = "brick"
material = "stone"
position = [0.5, 0, 0.05]
density = 2000.0
COPIES
[[body.shape]]
sphere = { radius = 0.04 }
"#;

    fn wall(copies: &str) -> Result<Vec<(String, Vec<f64>)>, String> {
        let loaded = parse(&WALL.replace("COPIES", copies), "wall.toml").map_err(|error| error.to_string())?;
        let bodies = loaded.scene().bodies.iter();
        Ok(bodies.map(|body| (body.name.clone(), body.position.clone().unwrap())).collect())
    }

    #[test]
    fn a_wall_stands_in_its_bond() {
        let bodies = wall("copies = { count = [2, 1, 3], spacing = [0.2, 0, 0.1], stagger = [0.05, 0, 0] }").unwrap();
        let names: Vec<&str> = bodies.iter().map(|body| body.0.as_str()).collect();
        assert_eq!(names, ["brick-1-1", "brick-2-1", "brick-1-2", "brick-2-2", "brick-1-3", "brick-2-3"]);
        let close = |i: usize, place: [f64; 3]| {
            let error = bodies[i].1.iter().zip(place).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-15, "{:?}", bodies[i]);
        };
        close(0, [0.5, 0.0, 0.05]);
        close(3, [0.75, 0.0, 0.15]);
        close(5, [0.7, 0.0, 0.25]);
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        for (copies, words) in [
            ("copies = { count = [2, 0, 3], spacing = [0.2, 0, 0.1] }", "cannot be copied 0 times"),
            ("copies = { count = [2, 1, 3], spacing = [0.2, 0] }", "`spacing` has 2"),
            ("copies = { count = [1000, 1000, 1000], spacing = [1, 1, 1] }", "more than 100000 copies"),
            ("copies = { number = [2], spacing = [1] }", "unknown key `number`"),
        ] {
            let message = wall(copies).unwrap_err();
            assert!(message.contains(words) && message.contains("wall.toml:14"), "{message}");
        }
    }
}
