//! The woodpecker toy of \[GS05\] §4: a sleeve on a pole, a spring, a bird whose beak hits the
//! pole.
//!
//! Coordinates: height $y$ and angle $\varphi_M$ of the sleeve, angle $\varphi_S$ of the
//! woodpecker; (14)-(16) with the parameters of Table I.

use crate::linear_system::{LinearContact, LinearSystem, LinearSystemData};
use crate::{Restitution, State};

/// Parameters of the toy, in SI units; the defaults are those of Table I.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Woodpecker {
    /// Radius of the pole $r_O$.
    pub pole_radius: f64,
    /// Inner radius of the sleeve $r_M$.
    pub sleeve_radius: f64,
    /// Half height of the sleeve $h_M$.
    pub sleeve_half_height: f64,
    /// Distance $l_M$ from the centre of the sleeve to the joint.
    pub joint_distance: f64,
    /// Distance $l_G$ from the joint to the centre of the bird.
    pub bird_distance: f64,
    /// Height $h_S$ of the beak over the centre of the bird.
    pub beak_height: f64,
    /// Length $l_S$ of the beak.
    pub beak_length: f64,
    /// Mass $m_M$ of the sleeve.
    pub sleeve_mass: f64,
    /// Mass $m_S$ of the bird.
    pub bird_mass: f64,
    /// Moment of inertia $J_M$ of the sleeve.
    pub sleeve_inertia: f64,
    /// Moment of inertia $J_S$ of the bird.
    pub bird_inertia: f64,
    /// Stiffness $c_\varphi$ of the spring.
    pub stiffness: f64,
    /// Gravity $g$.
    pub gravity: f64,
    /// Coefficient of friction of all contacts.
    pub mu: f64,
    /// Restitution $\varepsilon_{N1}$ of the beak; the sleeve has none.
    pub beak_restitution: f64,
}

impl Default for Woodpecker {
    fn default() -> Self {
        Self {
            pole_radius: 0.0025,
            sleeve_radius: 0.0031,
            sleeve_half_height: 0.0058,
            joint_distance: 0.010,
            bird_distance: 0.015,
            beak_height: 0.02,
            beak_length: 0.0201,
            sleeve_mass: 0.0003,
            bird_mass: 0.0045,
            sleeve_inertia: 5.0e-9,
            bird_inertia: 7.0e-7,
            stiffness: 0.0056,
            gravity: 9.81,
            mu: 0.3,
            beak_restitution: 0.5,
        }
    }
}

impl Woodpecker {
    /// The linear system (14)-(16).
    pub fn system(&self) -> LinearSystem {
        let Self { bird_mass: m_s, sleeve_mass: m_m, joint_distance: l_m, bird_distance: l_g, .. } = *self;
        let Self { sleeve_radius: r_m, sleeve_half_height: h_m, beak_height: h_s, beak_length: l_s, .. } = *self;
        let clearance = r_m - self.pole_radius;
        let contact = |name: &str, gap, normal: [f64; 3], tangent: [f64; 3], restitution| LinearContact {
            name: name.to_owned(),
            gap,
            normal: normal.to_vec(),
            tangents: vec![tangent.to_vec()],
            mu: self.mu,
            restitution: Restitution { normal: restitution, ..Default::default() },
            ..Default::default()
        };
        let data = LinearSystemData {
            coordinates: ["y", "phi_m", "phi_s"].map(str::to_owned).to_vec(),
            mass: vec![
                vec![m_s + m_m, m_s * l_m, m_s * l_g],
                vec![m_s * l_m, self.sleeve_inertia + m_s * l_m * l_m, m_s * l_m * l_g],
                vec![m_s * l_g, m_s * l_m * l_g, self.bird_inertia + m_s * l_g * l_g],
            ],
            stiffness: vec![
                vec![0.0; 3],
                vec![0.0, self.stiffness, -self.stiffness],
                vec![0.0, -self.stiffness, self.stiffness],
            ],
            force: [m_s + m_m, m_s * l_m, m_s * l_g].map(|mass| -mass * self.gravity).to_vec(),
            contacts: vec![
                contact(
                    "beak",
                    l_m + l_g - l_s - self.pole_radius,
                    [0.0, 0.0, -h_s],
                    [1.0, l_m, l_g - l_s],
                    self.beak_restitution,
                ),
                contact("lower-sleeve", clearance, [0.0, h_m, 0.0], [1.0, r_m, 0.0], 0.0),
                contact("upper-sleeve", clearance, [0.0, -h_m, 0.0], [1.0, r_m, 0.0], 0.0),
            ],
            ..Default::default()
        };
        LinearSystem::new(data).expect("the parameters of the toy make a system")
    }

    /// The initial state of Table I. The lower sleeve penetrates the pole by 8.8e-7 m.
    pub fn start() -> State {
        State::new(0.0, vec![0.0, -0.1036, -0.2788], vec![-0.3411, 0.0, -7.4583])
    }
}
