//! Variable and parameter declarations.

use crate::text::ast::{Init, Linkage, PointerAttribute, Space, Variable};
use crate::text::lexer::Kind;
use crate::text::parser::constant::Constant;
use crate::text::parser::{Parsed, Parser};

impl Parser<'_> {
    /// Parses `.space [.align n] [.v4] .type name[dims] [= init]`, without the final `;`.
    pub(super) fn variable(&mut self, linkage: Linkage) -> Parsed<Variable> {
        let token = self.token();
        let space = match self.dot("a state space")? {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" => Space::Shared,
            "local" => Space::Local,
            "param" => Space::Param,
            "reg" => Space::Reg,
            other => return Err(self.error_at(token, format!("`.{other}` is not a state space"))),
        };
        let mut variable = Variable {
            linkage,
            space,
            align: None,
            vector: 1,
            ty: self.name(""),
            pointer: None,
            attributes: Box::default(),
            name: self.name(""),
            dims: Box::default(),
            init: None,
            pos: self.pos(),
        };
        self.type_of(&mut variable)?;
        variable.pos = self.pos();
        variable.name = self.ident("a name")?;
        let mut dims = vec![];
        while self.eat('[') {
            let dim = if self.peek() == Kind::Punct(']') { None } else { Some(self.extent()?) };
            dims.push(dim);
            self.expect(']')?;
        }
        variable.dims = dims.into();
        if self.eat('=') {
            match &*variable.ty {
                "texref" | "samplerref" | "surfref" => self.settings()?,
                _ => variable.init = Some(Box::new(self.init()?)),
            }
        }
        Ok(variable)
    }

    /// Parses the alignment, vector length, attributes and type, in any order, up to the name.
    fn type_of(&mut self, variable: &mut Variable) -> Parsed<()> {
        loop {
            let token = self.token();
            match token.kind {
                Kind::Dot("align") if variable.pointer.is_none() => {
                    self.advance();
                    variable.align = Some(self.alignment()?);
                }
                Kind::Dot("attribute") => {
                    self.advance();
                    variable.attributes = self.attributes()?.into();
                }
                Kind::Dot("ptr") if variable.pointer.is_none() => {
                    self.advance();
                    variable.pointer = Some(Box::new(self.pointer()?));
                }
                Kind::Dot("v2") => {
                    self.advance();
                    variable.vector = 2;
                }
                Kind::Dot("v4") => {
                    self.advance();
                    variable.vector = 4;
                }
                Kind::Dot(word) if variable.ty.is_empty() => {
                    self.advance();
                    variable.ty = self.name(word);
                }
                Kind::Ident(_) if !variable.ty.is_empty() => return Ok(()),
                _ if variable.ty.is_empty() => return Err(self.expected("a type")),
                _ => return Err(self.expected("a name")),
            }
        }
    }

    fn alignment(&mut self) -> Parsed<u32> {
        let token = self.token();
        let value = self.small("an alignment")?;
        if !value.is_power_of_two() || value > 1 << 12 {
            return Err(self.error_at(token, "an alignment is a power of two of at most 4096"));
        }
        Ok(value)
    }

    fn pointer(&mut self) -> Parsed<PointerAttribute> {
        let space = match self.peek() {
            Kind::Dot(word @ ("global" | "const" | "shared" | "local")) => {
                self.advance();
                Some(word.to_string())
            }
            _ => None,
        };
        let align = if self.eat_dot("align") { Some(self.alignment()?) } else { None };
        Ok(PointerAttribute { space, align })
    }

    /// Parses `(.managed)` or `(.unified(a, b))`.
    pub(super) fn attributes(&mut self) -> Parsed<Vec<String>> {
        let mut words = vec![];
        self.expect('(')?;
        loop {
            let mut word = self.dot("an attribute")?.to_string();
            if self.eat('(') {
                let (a, b) = (self.number("a number")?, {
                    self.expect(',')?;
                    self.number("a number")?
                });
                self.expect(')')?;
                word = format!("{word}({a}, {b})");
            }
            words.push(word);
            if !self.eat(',') {
                self.expect(')')?;
                return Ok(words);
            }
        }
    }

    fn extent(&mut self) -> Parsed<u64> {
        let token = self.token();
        let value = self.integer("an array extent")?;
        u64::try_from(value).map_err(|_| self.error_at(token, format!("an array of {value} elements")))
    }

    /// Parses the settings of a texture, sampler or surface, such as `{ filter_mode = nearest }`, which are ignored.
    fn settings(&mut self) -> Parsed<()> {
        self.expect('{')?;
        while !self.eat('}') {
            self.word("a setting")?;
            self.expect('=')?;
            match self.peek() {
                Kind::Ident(_) => self.advance(),
                _ => {
                    self.integer("the value of a setting")?;
                }
            }
            if !self.eat(',') {
                return self.expect('}');
            }
        }
        Ok(())
    }

    fn init(&mut self) -> Parsed<Init> {
        match self.peek() {
            Kind::Punct('{') => self.nested(|p| p.init_list()),
            Kind::Ident("WARP_SZ") => Ok(self.init_constant()?),
            Kind::Ident(_) => self.init_address(None),
            Kind::Int(mask) if self.peek_ahead(1) == Kind::Punct('(') => self.init_byte(mask),
            _ => self.init_constant(),
        }
    }

    /// Parses `0xFF00(name)` or `0xFF00(131187)`, a byte of an address or of an integer.
    fn init_byte(&mut self, mask: u64) -> Parsed<Init> {
        let shift = mask.trailing_zeros();
        if !shift.is_multiple_of(8) || mask.checked_shr(shift) != Some(0xff) {
            return Err(self.expected("a mask with the eight ones of a byte"));
        }
        self.advance();
        self.expect('(')?;
        let init = match self.peek() {
            Kind::Ident(name) if name != "WARP_SZ" => self.init_address(Some(mask))?,
            _ => Init::Int((self.integer("an initial value")? >> shift) & 0xff),
        };
        self.expect(')')?;
        Ok(init)
    }

    fn init_constant(&mut self) -> Parsed<Init> {
        Ok(match self.constant()? {
            Constant::Int(int) => Init::Int(int.value()),
            Constant::Single(bits) => Init::Single(bits),
            Constant::Double(bits) => Init::Double(bits),
        })
    }

    fn init_list(&mut self) -> Parsed<Init> {
        self.expect('{')?;
        let mut items = vec![];
        while !self.eat('}') {
            items.push(self.init()?);
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Init::List(items))
    }

    fn init_address(&mut self, mask: Option<u64>) -> Parsed<Init> {
        let mut name = self.word("a name")?;
        let generic = name == "generic" && self.eat('(');
        if generic {
            name = self.word("a variable")?;
            self.expect(')')?;
        }
        let offset = match self.peek() {
            Kind::Punct('+' | '-') => self.signed_sum()?,
            _ => 0,
        };
        Ok(Init::Address { name: name.to_string(), generic, offset, mask })
    }

    /// Parses `+ constant` or `- constant`.
    pub(super) fn signed_sum(&mut self) -> Parsed<i128> {
        let token = self.token();
        // The sign is not consumed here, because it belongs to the sum's first term.
        match self.sum()? {
            Constant::Int(int) => Ok(int.wrapped().into()),
            _ => Err(self.error_at(token, "an offset is an integer")),
        }
    }
}
