//! Attack: built-in scenes with bytes and values changed. `check` and short runs may refuse them,
//! fail, or go on; nothing else.

use std::time::Duration;

use stiction_dynamics::families::Generator;
use stiction_scene::builtin;

use crate::child::{Running, Scratch};
use crate::run_record::RunRecord;
use crate::tally::{Fault, Soak};

/// How long a run goes on before it is stopped.
const RUN: Duration = Duration::from_secs(2);

/// How long a check may take: no limit of work is that large.
const CHECK: Duration = Duration::from_secs(120);

/// Values that numbers are replaced by.
const VALUES: &str =
    "0 -1 0.0 -0.0 1e-300 1e300 1e160 -1e160 1e9 1e-9 nan inf 99999999999999999999 1e-16 true \"text\"";

/// Mutates a scene, checks it and runs it a little.
pub fn attack(soak: &mut Soak, number: u64) -> Result<(), String> {
    let mut random = Generator::new(soak.seed_of(number, 31, 40));
    let all = builtin::all();
    let scene = &all[random.below(all.len())];
    let mut bytes = scene.text.as_bytes().to_vec();
    for _ in 0..1 + random.below(3) {
        bytes = if random.chance(0.7) {
            with_other_value(&bytes, &mut random)
        } else {
            with_other_bytes(&bytes, &mut random)
        };
    }
    let scratch = Scratch::new("scene")?;
    let file = scratch.path().join("scene.toml");
    std::fs::write(&file, &bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    soak.done("mutated scenes");

    let checked = Running::start(&soak.stiction, scratch.path(), &["check", "scene.toml"])?.end(CHECK)?;
    let ran = Running::start(&soak.stiction, scratch.path(), &["run", "scene.toml", "--out", "run"])?.end_early(RUN)?;
    let mut faults = Vec::new();
    for (command, ended) in [("check", &checked), ("run", &ran)] {
        faults.extend(ended.fault().map(|fault| (command, fault)));
    }
    if ran.code == Some(0) && RunRecord::read(&scratch.path().join("run")).is_ok_and(|record| record.has_nan) {
        faults.push(("run", Fault::NotFinite));
    }
    for (command, fault) in faults {
        let name = format!("scene-{}-{number}.toml", soak.seed);
        let path = soak.findings()?.join(&name);
        std::fs::write(&path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        soak.note(Some(fault), &format!("{fault:?}, {} mutated: stiction {command} {}", scene.name, path.display()))?;
    }
    Ok(())
}

/// The same with one number, somewhere, replaced or multiplied.
fn with_other_value(bytes: &[u8], random: &mut Generator) -> Vec<u8> {
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'_');
    let mut spans = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let is_start =
            bytes[i].is_ascii_digit() || (bytes[i] == b'-' && bytes.get(i + 1).is_some_and(u8::is_ascii_digit));
        let is_inside_word = i > 0 && (bytes[i - 1].is_ascii_alphabetic() || matches!(bytes[i - 1], b'-' | b'_'));
        let end = (i..bytes.len()).find(|&k| !is_number(bytes[k])).unwrap_or(bytes.len());
        if is_start && !is_inside_word {
            spans.push(i..end);
        }
        i = end.max(i + 1);
    }
    if spans.is_empty() {
        return bytes.to_vec();
    }
    let span = spans[random.below(spans.len())].clone();
    let old = String::from_utf8_lossy(&bytes[span.clone()]).replace('_', "");
    let new = match old.parse::<f64>() {
        Ok(value) if random.chance(0.5) => {
            let exponent = random.below(25) as i32 - 12;
            format!("{:e}", value * f64::from(10).powi(exponent))
        }
        Ok(value) if random.chance(0.3) => format!("{:?}", -value),
        _ => {
            let values: Vec<&str> = VALUES.split(' ').collect();
            values[random.below(values.len())].to_owned()
        }
    };
    [&bytes[..span.start], new.as_bytes(), &bytes[span.end..]].concat()
}

/// The same with some bytes flipped, lost, repeated or cut off.
pub fn with_other_bytes(bytes: &[u8], random: &mut Generator) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    let place = random.below(bytes.len());
    let length = (1 + random.below(8)).min(bytes.len() - place);
    match random.below(5) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.below(256) as u8,
        2 => drop(bytes.drain(place..place + length)),
        3 => {
            let copy = bytes[place..place + length].to_vec();
            let to = random.below(bytes.len());
            drop(bytes.splice(to..to, copy));
        }
        _ => bytes.truncate(place),
    }
    bytes
}
