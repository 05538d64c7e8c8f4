//! A drawing as a PDF document of one page: vectors, and text that can be searched and copied.
//!
//! The fonts are embedded with the glyphs that occur, as composite fonts whose codes are the
//! numbers of their glyphs; a table beside them takes the codes back to letters.

use std::collections::{BTreeMap, BTreeSet};

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{
    CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, TextRenderingMode, UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::{GlyphRemapper, subset};
use tiny_skia::{Path, PathSegment, Point};
use ttf_parser::GlyphId;

use super::drawing::{Drawing, Item, Pen, Text};
use super::font::{Weight, glyphs};
use super::{Colour, FigureError};

/// Points of the page per pixel, at 96 pixels to the inch.
const POINTS_PER_PIXEL: f32 = 0.75;
/// How hard streams are compressed, from 0 to 10.
const COMPRESSION: u8 = 7;
/// Thickness of upright strokes, which PDF wants and only replaced fonts use.
const STEM: f32 = 80.0;
const SYSTEM: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// A font with the glyphs that occur.
struct Subset {
    weight: Weight,
    glyphs: GlyphRemapper,
    /// By their numbers in the subset.
    letters: BTreeMap<u16, (char, GlyphId)>,
}

/// The name of a font in the document, and in its file. By the standard, six letters before the
/// name tell subsets apart.
fn names(weight: Weight) -> (Name<'static>, Name<'static>) {
    match weight {
        Weight::Regular => (Name(b"R"), Name(b"STICTR+NotoSans-Regular")),
        Weight::Bold => (Name(b"B"), Name(b"STICTB+NotoSans-Bold")),
    }
}

impl Drawing {
    /// The drawing as a PDF document of one page, with text as text and the letters it uses.
    ///
    /// # Errors
    /// When the font cannot be reduced to these letters.
    pub fn to_pdf(&self) -> Result<Vec<u8>, FigureError> {
        let mut fonts =
            Weight::ALL.map(|weight| Subset { weight, glyphs: GlyphRemapper::new(), letters: BTreeMap::new() });
        // Text is opaque.
        let mut opacities = BTreeSet::from([100]);
        let scale = POINTS_PER_PIXEL;
        let (width, height) = (scale * self.size.0 as f32, scale * self.size.1 as f32);
        let mut content = Content::new();
        content.transform([scale, 0.0, 0.0, -scale, 0.0, height]);
        for item in &self.items {
            match item {
                Item::Fill(path, colour, opacity) => {
                    let percent = (100.0 * opacity).round() as u8;
                    opacities.insert(percent);
                    set_fill(&mut content, *colour, percent);
                    put_path(&mut content, path);
                    content.fill_nonzero();
                }
                Item::Line(path, pen) => {
                    set_pen(&mut content, pen);
                    put_path(&mut content, path);
                    content.stroke();
                }
                Item::Text(text) => put_text(&mut content, text, &mut fonts[text.weight as usize]),
            }
        }
        let content = compress_to_vec_zlib(content.finish().as_slice(), COMPRESSION);

        let mut next = Ref::new(1);
        let [catalog, pages, page, stream, information] = [(); 5].map(|()| next.bump());
        let fonts = fonts.map(|font| (font, [(); 5].map(|()| next.bump())));
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        pdf.document_info(information).title(TextStr(&self.title)).creator(TextStr("Stiction"));
        pdf.stream(stream, &content).filter(Filter::FlateDecode);
        let mut page = pdf.page(page);
        page.parent(pages).media_box(Rect::new(0.0, 0.0, width, height)).contents(stream);
        let mut resources = page.resources();
        let mut states = resources.ext_g_states();
        for percent in opacities {
            let mut state =
                states.insert(Name(&opacity_name(percent))).start::<pdf_writer::writers::ExtGraphicsState>();
            state.non_stroking_alpha(f32::from(percent) / 100.0);
        }
        states.finish();
        let mut of_page = resources.fonts();
        for (font, ids) in &fonts {
            of_page.pair(names(font.weight).0, ids[0]);
        }
        of_page.finish();
        resources.finish();
        page.finish();
        for (font, ids) in &fonts {
            put_font(&mut pdf, font, *ids)?;
        }
        Ok(pdf.finish())
    }
}

fn opacity_name(percent: u8) -> Vec<u8> {
    format!("a{percent}").into_bytes()
}

fn components(Colour(r, g, b): Colour) -> [f32; 3] {
    [r, g, b].map(|part| f32::from(part) / 255.0)
}

fn set_fill(content: &mut Content, colour: Colour, percent: u8) {
    let [r, g, b] = components(colour);
    content.set_fill_rgb(r, g, b).set_parameters(Name(&opacity_name(percent)));
}

fn set_pen(content: &mut Content, pen: &Pen) {
    let [r, g, b] = components(pen.colour);
    content.set_stroke_rgb(r, g, b).set_line_width(pen.width as f32);
    content.set_line_cap(if pen.has_round_ends() { LineCapStyle::RoundCap } else { LineCapStyle::ButtCap });
    content.set_line_join(if pen.is_round { LineJoinStyle::RoundJoin } else { LineJoinStyle::MiterJoin });
    content.set_dash_pattern(pen.dash.into_iter().flatten().map(|length| length as f32), 0.0);
}

fn put_path(content: &mut Content, path: &Path) {
    let mut last = Point::zero();
    for segment in path.segments() {
        last = match segment {
            PathSegment::MoveTo(to) => {
                content.move_to(to.x, to.y);
                to
            }
            PathSegment::LineTo(to) => {
                content.line_to(to.x, to.y);
                to
            }
            PathSegment::QuadTo(a, to) => {
                // PDF has cubic curves alone.
                let handle = |end: Point| (end.x + 2.0 / 3.0 * (a.x - end.x), end.y + 2.0 / 3.0 * (a.y - end.y));
                let (first, second) = (handle(last), handle(to));
                content.cubic_to(first.0, first.1, second.0, second.1, to.x, to.y);
                to
            }
            PathSegment::CubicTo(a, b, to) => {
                content.cubic_to(a.x, a.y, b.x, b.y, to.x, to.y);
                to
            }
            PathSegment::Close => {
                content.close_path();
                last
            }
        };
    }
}

/// A line of text, in runs of letters of the same size and height.
fn put_text(content: &mut Content, text: &Text, font: &mut Subset) {
    let (glyphs, _) = glyphs(&text.text, text.weight);
    set_fill(content, text.colour, 100);
    let rim = text.halo.map(|pen| {
        set_pen(content, &pen);
        TextRenderingMode::Stroke
    });
    for mode in rim.into_iter().chain([TextRenderingMode::Fill]) {
        content.begin_text();
        content.set_text_rendering_mode(mode);
        for run in glyphs.chunk_by(|a, b| (a.scale, a.rise) == (b.scale, b.rise)) {
            let (x, y) = text.place((run[0].x, run[0].rise));
            let (x, y) = (x as f32, y as f32);
            content.set_font(names(font.weight).0, (text.size * run[0].scale) as f32);
            // The page is upside down in pixels; letters are not.
            content.set_text_matrix(match text.upwards {
                true => [0.0, -1.0, -1.0, 0.0, x, y],
                false => [1.0, 0.0, 0.0, -1.0, x, y],
            });
            let codes = run.iter().flat_map(|glyph| {
                let code = font.glyphs.remap(glyph.id.0);
                font.letters.insert(code, (glyph.letter, glyph.id));
                code.to_be_bytes()
            });
            content.show(Str(&codes.collect::<Vec<u8>>()));
        }
        content.end_text();
    }
}

/// The objects of a font: itself, its glyphs, their measures, its file, the letters of its codes.
fn put_font(pdf: &mut Pdf, font: &Subset, ids: [Ref; 5]) -> Result<(), FigureError> {
    let [id, descendant, descriptor, file, letters] = ids;
    let (face, name) = (font.weight.face(), names(font.weight).1);
    // PDF measures fonts in thousandths of an em.
    let per_mille = |length: f64| (1000.0 * font.weight.em(length)) as f32;

    let mut composite = pdf.type0_font(id);
    composite.base_font(name).encoding_predefined(Name(b"Identity-H"));
    composite.descendant_font(descendant).to_unicode(letters);
    composite.finish();

    let mut glyphs = pdf.cid_font(descendant);
    glyphs.subtype(CidFontType::Type2).base_font(name).system_info(SYSTEM).font_descriptor(descriptor);
    glyphs.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = glyphs.widths();
    for (&code, &(_, glyph)) in &font.letters {
        widths.consecutive(code, [per_mille(face.glyph_hor_advance(glyph).unwrap_or_default().into())]);
    }
    widths.finish();
    glyphs.finish();

    let bounds = face.global_bounding_box();
    let bounds = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|at| per_mille(at.into()));
    let mut measures = pdf.font_descriptor(descriptor);
    measures.name(name).flags(FontFlags::NON_SYMBOLIC).bbox(Rect::new(bounds[0], bounds[1], bounds[2], bounds[3]));
    measures.italic_angle(0.0).stem_v(STEM).font_file2(file);
    measures.ascent(per_mille(face.ascender().into())).descent(per_mille(face.descender().into()));
    measures.cap_height(per_mille(face.capital_height().unwrap_or_default().into()));
    measures.finish();

    let data = subset(font.weight.data(), 0, &font.glyphs).map_err(|e| FigureError::Pdf(e.to_string()))?;
    let packed = compress_to_vec_zlib(&data, COMPRESSION);
    let mut stream = pdf.stream(file, &packed);
    stream.filter(Filter::FlateDecode);
    stream.pair(Name(b"Length1"), data.len() as i32);
    stream.finish();

    let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
    font.letters.iter().for_each(|(&code, &(letter, _))| map.pair(code, letter));
    pdf.cmap(letters, map.finish().as_slice()).finish();
    Ok(())
}
