//! Rigid bodies in space and in the plane, their shapes, and the contacts between them.
//!
//! A [`MultibodyModel`] says which bodies there are; [`Multibody`] makes it a
//! [`MechanicalSystem`](stiction_dynamics::MechanicalSystem). Contacts come from closed forms in
//! [`collide`](mod@collide), after a sweep over bounding spheres has found what is near. No margins
//! are hidden: a gap is a number.

mod body;
mod broad_phase;
pub mod collide;
mod error;
pub mod joint;
mod material;
mod multibody;
mod pose;
mod shape;
mod spring;
mod touch_rates;

pub use body::{AppliedForce, Body, BodyKind, BodyShape, Clutch, DryFriction, ForceAxes, Motion, Oscillation};
pub use error::BodyError;
pub use glamx;
pub use joint::{BodyJoint, CoordinateKind, JointDrive, JointFrame, JointKind, JointLimits, JointMotor};
pub use material::{CombinationRule, Grain, Material, MaterialTable, Surface, Torsion};
pub use multibody::{Assembly, Multibody, MultibodyModel};
pub use pose::{Pose, advance_orientation};
pub use shape::{
    Bend, Census, CheckedSurface, Dimension, Edge, Face, Found, HalfEdge, MassProperties, Mesh, MeshEdge, MeshFace,
    MeshFault, PlacedShape, Polygon, Polyline, Polytope, Shape, ShapeError, SurfaceError, SurfaceFault,
    SurfaceFaultKind, SurfaceRules, TriangleSurface, combined_mass_properties, mass_properties,
};
pub use spring::{Attachment, Spring, TorsionSpring};
