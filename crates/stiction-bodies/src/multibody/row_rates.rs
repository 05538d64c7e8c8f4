//! Rates of rows along a motion, in closed form: $\dot n v$, $\dot T v$, $\dot \nu v$.
//!
//! Every row is a velocity of one body less that of another, along a direction:
//! $f = e \cdot (V^a(p) - V^b(p'))$ or $(\omega^a - \omega^b) \cdot e$. While the velocity
//! coordinates are held, a body turns with a constant angular velocity, so that the velocity of its
//! material at a moving place $p$ changes by $\omega \times (\dot p - \dot x)$, with $x$ for its
//! origin; and $f$ changes with that and with $\dot e$.

use glamx::DVec3;
use stiction_dynamics::{Contact, FrictionElement, Joint, RowRates};

use super::Multibody;
use super::contacts::{grain_rates, shapes_of, tangent_rates};
use crate::body::BodyShape;
use crate::collide;
use crate::touch_rates::{Twist, touch_rates};

impl Multibody {
    /// Writes the rates of these rows.
    pub(super) fn write_row_rates(
        &self,
        (t, q, v): (f64, &[f64], &[f64]),
        (contacts, friction, joints): (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        out.reset(contacts.len(), friction.len(), joints.len());
        for (i, contact) in contacts.iter().enumerate() {
            if let Some(clutch) = self.clutch(contact.id) {
                out.normals[i] = self.line_rate(&clutch.into(), clutch.axis, (t, q, v));
                continue;
            }
            (out.normals[i], out.tangents[i]) = match self.joint_of_stop(contact.id) {
                Some(joint) => {
                    let sign = if contact.id.feature == 0 { 1.0 } else { -1.0 };
                    (sign * self.joint_motion(&self.model.joints[joint], (t, q, v)).coordinate_rate(), [0.0; 3])
                }
                None => self.contact_rates(contact, (t, q, v)),
            };
        }
        for (element, rates) in friction.iter().zip(&mut out.friction) {
            let number = element.id as usize;
            match self.model.dry_friction.get(number) {
                Some(dry) => {
                    for ((rate, &axis), factor) in rates.iter_mut().zip(&dry.axes).zip(dry.semi_axes) {
                        *rate = factor * self.line_rate(&dry.into(), axis, (t, q, v));
                    }
                }
                None => {
                    let joint = self.model.joints.get(number - self.model.dry_friction.len());
                    // Beyond the joints there are pre-stressed springs, which no scheme treats that
                    // asks for rates.
                    rates[0] = joint.map_or(0.0, |joint| self.joint_motion(joint, (t, q, v)).coordinate_rate());
                }
            }
        }
        let mut rates = out.joints.iter_mut();
        for (joint, kinds) in self.model.joints.iter().zip(&self.joint_rows) {
            let motion = self.joint_motion(joint, (t, q, v));
            for (&kind, rate) in kinds.iter().zip(rates.by_ref()) {
                *rate = motion.row_rate(kind);
            }
            if let Some(drive) = joint.drive
                && joint.kind.coordinate().is_some()
                && let Some(rate) = rates.next()
            {
                *rate = motion.coordinate_rate() - drive.at(t)[2];
            }
        }
    }

    /// The motion of a body; the world stands still.
    pub(super) fn twist(&self, body: Option<usize>, at: (f64, &[f64], &[f64])) -> Twist {
        let Some(body) = body else { return Twist::default() };
        let (velocity, spin) = self.velocity_at(body, at);
        let acceleration = self.motion(body).map_or(DVec3::ZERO, |motion| motion.acceleration_at(at.0));
        Twist { origin: self.pose(body, at.0, at.1).position, velocity, spin, acceleration }
    }

    /// Rates of the normal row and of the tangent rows of a contact between shapes.
    fn contact_rates(&self, contact: &Contact, (t, q, v): (f64, &[f64], &[f64])) -> (f64, [f64; 3]) {
        let [first, second] = [contact.id.first, contact.id.second].map(|body| body as usize);
        let shapes = shapes_of(contact.id).map(|(body, number)| {
            let BodyShape { placed, material } = &self.model.bodies[body as usize].shapes[number as usize];
            (&placed.shape, placed.world_pose(&self.pose(body as usize, t, q)), *material)
        });
        let [(shape_first, pose_first, material_first), (shape_second, pose_second, material_second)] = &shapes;
        let dimension = self.model.dimension;
        let mut touches = Vec::new();
        let pair = [(*shape_first, pose_first), (*shape_second, pose_second)];
        collide::touches_of(dimension, pair, &[contact.id.feature], &mut touches);
        let Some(touch) = touches.first() else {
            return (0.0, [0.0; 3]);
        };
        let [a, b] = [first, second].map(|body| self.twist(Some(body), (t, q, v)));
        let [n_rate, first_rate, second_rate] =
            touch_rates(dimension, (shape_first, pose_first, &a), (shape_second, pose_second, &b), touch);
        let surface = |body: usize| self.motion(body).map_or(DVec3::ZERO, |motion| motion.surface_velocity);
        let slip = a.at(touch.point_on_first) + surface(first) - b.at(touch.point_on_second) - surface(second);
        let slip_rate = a.rate(first_rate) - b.rate(second_rate);
        let along = |(direction, rate): (DVec3, DVec3)| rate.dot(slip) + direction.dot(slip_rate);
        let mut tangents = [0.0; 3];
        let surface = self.model.materials.surface(*material_first, *material_second);
        let along_grain = surface.and_then(|surface| surface.grain).and_then(|grain| {
            let (body, spin) = if grain.material == *material_first { (first, a.spin) } else { (second, b.spin) };
            let direction = self.pose(body, t, q).transform_vector(grain.direction);
            grain_rates((touch.normal, n_rate), (direction, spin.cross(direction)))
        });
        let directions = along_grain.unwrap_or_else(|| tangent_rates(dimension, touch.normal, n_rate));
        for (a, rate) in tangents.iter_mut().enumerate().take(contact.tangents.len().min(2)) {
            *rate = along(directions[a]);
        }
        if contact.tangents.len() == 3 {
            tangents[2] = n_rate.dot(a.spin - b.spin);
        }
        (along((touch.normal, n_rate)), tangents)
    }
}
