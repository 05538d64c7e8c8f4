//! What a run folder holds, looked at without the audit.

use std::path::Path;

use serde_json::Value;
use stiction_scene::table_file::Table;

/// What was recorded.
pub struct RunRecord {
    pub summary: Value,
    /// Some number of the summary or of the states is not finite.
    pub has_nan: bool,
    /// Deepest penetration after the start, in m.
    pub penetration: f64,
}

impl RunRecord {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(folder.join("summary.json")).map_err(|error| format!("summary: {error}"))?;
        let summary: Value = serde_json::from_str(&text).map_err(|error| format!("summary: {error}"))?;
        // A number that is none is written as null.
        let numbers = ["final_q", "final_v", "energy", "certificate", "end", "step"];
        let mut has_nan = numbers.iter().any(|key| summary.get(key).is_none_or(has_missing_number));
        let states = Table::read(folder.join("states.parquet")).map_err(|error| error.to_string())?;
        for column in states.names() {
            has_nan |= states.real(column).is_ok_and(|values| values.iter().any(|value| !value.is_finite()));
        }
        let contacts = Table::read(folder.join("contacts.parquet")).map_err(|error| error.to_string())?;
        let gaps = contacts.real("gap").map_err(|error| error.to_string())?;
        let penetration = gaps.iter().fold(0.0f64, |deepest, gap| deepest.max(-gap));
        Ok(Self { summary, has_nan, penetration })
    }

    /// A number of the summary's energies, in J.
    pub fn energy(&self, key: &str) -> f64 {
        self.summary["energy"][key].as_f64().unwrap_or(0.0)
    }
}

/// Whether a number is missing somewhere inside; a limit may be.
fn has_missing_number(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_missing_number),
        Value::Object(entries) => entries.iter().any(|(key, value)| key != "limit" && has_missing_number(value)),
        _ => false,
    }
}
