use stiction_dynamics::families::{BodyKind, RandomContacts, Generator};
use stiction_dynamics::*;
#[test]
fn measure() {
    for count in [6,8,12,20] { for rods in [false,true] { for mu in [3.0,30.0] {
        let mut fail=0; let mut fl=0; let mut pv=0usize; let mut size=0;
        for seed in 0..300u64 {
            let f = RandomContacts{contact_count:count,is_planar:true,bodies: if rods {BodyKind::Rods} else {BodyKind::Boxes}, mu:[0.0,mu], kick:1.0, ..Default::default()};
            let p = f.problem(seed);
            let mut m = PlanarRelay::new(Default::default());
            let lcp = m.lcp(&p).unwrap();
            let mut l = stiction_solve::Lemke::default(); let mut a = Default::default();
            l.solve(&lcp,&Default::default(),&[],&mut a);
            if !a.report.is_solved(){fl+=1;}
            let mut s = ContactSolution::default(); m.solve(&p,&mut s).unwrap();
            if !s.report.is_solved(){fail+=1;println!("{:?}",s.report);}
            pv+=a.report.iterations; size=a.report.size;
        }
        println!("{count} rods {rods} mu {mu}: lemke failed {fl}, all failed {fail}, size {size}, pivots {}", pv/300);
    }}}
    let _ = Generator::new(0);
}
