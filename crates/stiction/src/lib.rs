//! Rigid multibody systems with hard contact and exact Coulomb friction.
//!
//! This crate is the door to the four libraries; each can also be used by itself. Scenes are a
//! feature that is on by default: who builds systems in Rust leaves them out with
//! `default-features = false`, and with them TOML, JSON and Parquet.
//!
//! | module | holds |
//! |---|---|
//! | [`solve`] | complementarity problems and their solvers |
//! | [`dynamics`] | contact problems, time-stepping schemes, the audit |
//! | [`bodies`] | rigid bodies, shapes, contacts |
//! | [`scene`] | scene files and run folders |
//!
//! ```
//! use stiction::scene::load::load;
//!
//! let mut rod = load("rod", &["run.end=0.1".to_string()])?.simulation();
//! let state = rod.run()?;
//! assert!(state.q[1] < 1.0, "it falls");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use stiction_bodies as bodies;
pub use stiction_dynamics as dynamics;
#[cfg(feature = "scene")]
pub use stiction_scene as scene;
pub use stiction_solve as solve;

/// The code of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
