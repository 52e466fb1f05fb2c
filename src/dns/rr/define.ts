/**
 * Makes a record type from its list of fields: wire check, presentation form, embedded names, canonical form, and the
 * v4 forms with their special rules (api-contract §6). The type's definition contains what cannot be derived from the
 * fields.
 */
import { ByteWriter } from '../../base/bytes.js';
import { lowerName } from '../name.js';
import { latin1Text, PresentationError, TokenCursor } from '../presentation.js';
import { type ApiContext, type Field, NO_NAMES } from './field.js';
import { registerMnemonic } from './mnemonics.js';
import { octetsOfText } from './octet-text.js';
import { tokenizeRdata } from './tokens.js';
import { type ApiInput, type ApiOutput, type DataMember, RdataError, type RdataName, type RRType } from './type.js';
import { isUnknownForm, parseUnknownForm } from './unknown.js';

/** How the v4 API shows a type that clients may create. */
export interface ApiHabits {
  /** `content`: the value is one text without `data`. Default `data`: both forms exist. */
  readonly form?: 'content' | 'data';
  /**
   * The first field is `priority` and is not part of `content`: it is a separate member (`beside`), or also in `data`
   * (`both`).
   */
  readonly priority?: 'beside' | 'both';
  /** The priority when the client sends none. */
  readonly defaultPriority?: number;
  /** The error for any invalid value, for types whose error v4 clients know. */
  readonly invalid?: { readonly code: number; readonly message: string };
  /** Checks of the API beyond the type's own rules. */
  readonly check?: (rdata: Uint8Array) => RdataError | undefined;
}

export interface Definition {
  readonly mnemonic: string;
  readonly code: number;
  readonly rfc: string;
  /** In wire order; the keys are the member names in `data`. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Checks rules across fields for well-formed rdata; returns the problem or undefined. */
  readonly check?: (rdata: Uint8Array) => string | undefined;
  /** As in {@link RRType.semanticFault}; default: there is none. */
  readonly semanticFault?: RRType['semanticFault'];
  /** Present when v4 clients may create records of the type (api-contract §5.2). */
  readonly api?: ApiHabits;
}

const MAX_RDATA_LENGTH = 0xffff;
/** Shared by all parsers, because parsing is synchronous and never nested. */
const scratch = new ByteWriter(512);

/** Makes a record type from its definition. */
export function defineType(definition: Definition): RRType {
  const { mnemonic, code, rfc, api, semanticFault = () => undefined } = definition;
  registerMnemonic(code, mnemonic);
  const shape = shapeOf(definition);
  const canonical = (rdata: Uint8Array): Uint8Array => lowerNames(shape, rdata);
  return {
    code,
    mnemonic,
    rfc,
    creatable: api !== undefined,
    data: membersOf(shape),
    parse: (tokens, origin) => parse(shape, tokens, origin),
    print: (rdata) => join(shape, rdata, 'print', 0),
    check(rdata) {
      const fault = faultOf(shape, rdata);
      if (fault !== undefined) throw new RdataError(fault);
    },
    semanticFault,
    canonical,
    duplicateKey: canonical,
    names: (rdata) => namesOf(shape, rdata),
    fromApi: (input, apex) => fromApi(shape, input, apex),
    toApi: (rdata, content) => toApi(shape, rdata, content),
    contentOf: (rdata) => join(shape, rdata, 'spell', api?.priority ? 1 : 0),
  };
}

/** A definition with values that are derived from it once. */
interface Shape {
  readonly mnemonic: string;
  readonly names: readonly string[];
  readonly labels: readonly string[];
  readonly fields: readonly Field[];
  /**
   * Indexes of the last field that contains a name, and of the last whose name is in lower case in canonical form; -1
   * for none.
   */
  readonly lastName: number;
  readonly lastLower: number;
  readonly crossCheck: Definition['check'];
  readonly semanticFault: Definition['semanticFault'];
  /** Whether some field's text is returned as the client sent it. */
  readonly hasSentTexts: boolean;
  readonly api: ApiHabits;
}

function shapeOf({ mnemonic, fields: definitions, check, semanticFault, api }: Definition): Shape {
  const names = Object.keys(definitions);
  const fields = Object.values(definitions);
  return {
    mnemonic,
    names,
    labels: names.map((name) => name.replaceAll('_', ' ')),
    fields,
    lastName: fields.findLastIndex((field) => field.name),
    lastLower: fields.findLastIndex((field) => field.name?.lower),
    crossCheck: check,
    semanticFault,
    hasSentTexts: api !== undefined && fields.some((field) => field.asSent),
    api: api ?? {},
  };
}

/** The problem with octets as rdata of the type, or undefined. */
function faultOf({ mnemonic, fields, labels, crossCheck }: Shape, rdata: Uint8Array): string | undefined {
  if (rdata.length > MAX_RDATA_LENGTH) return `${mnemonic} rdata is longer than ${MAX_RDATA_LENGTH} octets`;
  let at = 0;
  for (let i = 0; i < fields.length; i++) {
    at = fields[i]!.end(rdata, at);
    if (at < 0) return `${labels[i]} in ${mnemonic} rdata is malformed or cut short`;
  }
  if (at !== rdata.length) return `${rdata.length - at} octets too many in ${mnemonic} rdata`;
  return crossCheck?.(rdata);
}

function parse(shape: Shape, tokens: TokenCursor, origin: Uint8Array): Uint8Array {
  const { fields, labels, crossCheck } = shape;
  const first = tokens.peek();
  let rdata: Uint8Array;
  let fault: string | undefined;
  if (isUnknownForm(tokens)) {
    rdata = parseUnknownForm(tokens);
    fault = faultOf(shape, rdata);
  } else {
    scratch.reset();
    for (let i = 0; i < fields.length; i++) fields[i]!.parse(tokens, origin, scratch, labels[i]!);
    tokens.end();
    rdata = scratch.bytes();
    fault = rdata.length > MAX_RDATA_LENGTH ? `rdata longer than ${MAX_RDATA_LENGTH} octets` : crossCheck?.(rdata);
  }
  if (fault !== undefined) throw tokens.failure(fault, first);
  return rdata;
}

/** Texts of the fields from index `from` on, without empty ones. */
function join({ fields }: Shape, rdata: Uint8Array, form: 'print' | 'spell', from: number): string {
  let text = '';
  let at = 0;
  for (let i = 0; i < fields.length; i++) {
    const end = fields[i]!.end(rdata, at);
    const part = i < from ? '' : fields[i]![form](rdata, at, end);
    if (part !== '') text = text === '' ? part : `${text} ${part}`;
    at = end;
  }
  return text;
}

function namesOf({ fields, lastName }: Shape, rdata: Uint8Array): readonly RdataName[] {
  if (lastName < 0) return NO_NAMES;
  const found: RdataName[] = [];
  let at = 0;
  for (let i = 0; i <= lastName; i++) {
    const { name, end } = fields[i]!;
    const next = end(rdata, at);
    if (name) found.push({ at, length: next - at, compress: name.compress, additional: name.additional });
    at = next;
  }
  return found;
}

/** Canonical form: lower case for the names that the type lists (RFC 4034 §6.2). */
function lowerNames({ fields, lastLower }: Shape, rdata: Uint8Array): Uint8Array {
  let out = rdata;
  let at = 0;
  for (let i = 0; i <= lastLower; i++) {
    const next = fields[i]!.end(rdata, at);
    const octets = fields[i]!.name?.lower ? rdata.subarray(at, next) : rdata;
    const lower = octets === rdata ? octets : lowerName(octets);
    if (lower !== octets) {
      if (out === rdata) out = new Uint8Array(rdata);
      out.set(lower, at);
    }
    at = next;
  }
  return out;
}

/** Index of the first field in `data`; the number of fields when there is no `data`. */
function firstDataField({ api, fields }: Shape): number {
  if (api.form === 'content') return fields.length;
  return api.priority === 'beside' ? 1 : 0;
}

function membersOf(shape: Shape): readonly DataMember[] {
  return shape.fields
    .map((field, i): DataMember => ({ name: shape.names[i]!, ...field.schema, required: !field.optional }))
    .slice(firstDataField(shape));
}

function fromApi(shape: Shape, input: ApiInput, apex: Uint8Array): { rdata: Uint8Array; content: string } {
  const { api, mnemonic } = shape;
  const fromData = api.form !== 'content' && (input.data != null || isBlank(input.content));
  let read: { rdata: Uint8Array; content: string };
  try {
    read = fromData ? readData(shape, input, apex) : readContent(shape, input, apex);
  } catch (error) {
    throw refusal(shape, error);
  }
  const fault = faultOf(shape, read.rdata);
  if (fault !== undefined) {
    throw new RdataError(`Content for ${mnemonic} record is invalid: ${fault}.`, fromData ? '/data' : '/content');
  }
  const wrong = shape.semanticFault?.(read.rdata);
  if (wrong) {
    const pointer = fromData ? `/data/${wrong.member}` : '/content';
    throw new RdataError(`Content for ${mnemonic} record is invalid: ${wrong.member}: ${wrong.reason}.`, pointer);
  }
  const refused = api.check?.(read.rdata);
  if (refused) throw refused;
  return read;
}

function isBlank(text: string | null | undefined): boolean {
  return text == null || text.trim() === '';
}

/** The error for the client: problems with the text get the messages that v4 clients know. */
function refusal({ api, mnemonic }: Shape, error: unknown): unknown {
  const ours = error instanceof RdataError || error instanceof PresentationError;
  if (!ours) return error;
  const pointer = error instanceof RdataError ? error.pointer : undefined;
  if (api.invalid && pointer !== '/priority') return new RdataError(api.invalid.message, '/content', api.invalid.code);
  if (pointer !== undefined) return error;
  const reason = error.message.replace(/\.$/, '');
  return new RdataError(`Content for ${mnemonic} record is invalid: ${reason}.`, '/content');
}

function readData(shape: Shape, input: ApiInput, apex: Uint8Array): { rdata: Uint8Array; content: string } {
  const { names, fields, api } = shape;
  const out = new ByteWriter();
  const context: ApiContext = { apex };
  const texts = fields.map((field, i) => {
    const name = names[i]!;
    if (i === 0 && api.priority) {
      const inData = input.data?.['priority'];
      return readMember(
        field,
        inData ?? input.priority ?? undefined,
        name,
        inData != null ? '/data' : '',
        out,
        context,
      );
    }
    return readMember(field, input.data?.[name], name, '/data', out, context);
  });
  return { rdata: out.bytes(), content: joinTexts(api.priority ? texts.slice(1) : texts) };
}

/** Reads one member of the request. A missing member has its own code (v4: §15.3); an invalid one has a pointer. */
function readMember(
  field: Field,
  value: unknown,
  name: string,
  parent: '/data' | '',
  out: ByteWriter,
  context: ApiContext,
): string {
  const pointer = `${parent}/${name}`;
  if (value == null && !field.optional) throw new RdataError(`${name} is a required data field.`, pointer, 9101);
  try {
    return field.readData(value ?? '', out, name, context);
  } catch (error) {
    if (!(error instanceof RdataError || error instanceof PresentationError)) throw error;
    throw new RdataError(error.message.replace(/\.?$/, '.'), pointer);
  }
}

function readContent(shape: Shape, input: ApiInput, apex: Uint8Array): { rdata: Uint8Array; content: string } {
  const { fields, labels, api } = shape;
  const tokens = new TokenCursor(tokenizeRdata(latin1Text(octetsOfText(input.content?.trim() ?? ''))));
  if (isUnknownForm(tokens)) return readUnknownForm(shape, tokens);
  const out = new ByteWriter();
  const context: ApiContext = { apex };
  // Four fields of an SRV or three of a URI are read as in a zone file, priority first (ours: lenient).
  const priorityInside = api.priority !== undefined && api.form !== 'content' && tokens.remaining === fields.length;
  const texts = fields.map((field, i) => {
    if (i > 0 || !api.priority || priorityInside) return field.readContent(tokens, out, labels[i]!, context);
    return readMember(field, input.priority ?? api.defaultPriority, 'priority', '', out, context);
  });
  tokens.end();
  return { rdata: out.bytes(), content: joinTexts(api.priority ? texts.slice(1) : texts) };
}

function readUnknownForm(shape: Shape, tokens: TokenCursor): { rdata: Uint8Array; content: string } {
  const rdata = parseUnknownForm(tokens);
  const fault = faultOf(shape, rdata);
  if (fault !== undefined) throw new RdataError(fault);
  return { rdata, content: joinTexts(spellFields(shape, rdata).slice(shape.api.priority ? 1 : 0)) };
}

function spellFields({ fields }: Shape, rdata: Uint8Array): string[] {
  let at = 0;
  return fields.map((field) => {
    const start = at;
    at = field.end(rdata, at);
    return field.spell(rdata, start, at);
  });
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(' ');
}

function toApi(shape: Shape, rdata: Uint8Array, content: string): ApiOutput {
  const { fields, names, api } = shape;
  const priority = api.priority ? { priority: (rdata[0]! << 8) | rdata[1]! } : {};
  if (api.form === 'content') return { content, ...priority };
  const sent = shape.hasSentTexts ? sentTexts(shape, content) : undefined;
  const members: [string, unknown][] = [];
  const first = firstDataField(shape);
  let at = 0;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i]!;
    const end = field.end(rdata, at);
    if (i >= first) members.push([names[i]!, field.writeData(rdata, at, end, field.asSent ? sent?.[i] : undefined)]);
    at = end;
  }
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return { content, data: Object.fromEntries(members), ...priority };
}

/**
 * The texts of the fields in the stored content; the last field takes the remaining text. Undefined when the content
 * does not match.
 */
function sentTexts({ fields, api }: Shape, content: string): (string | undefined)[] | undefined {
  try {
    const skipped = api.priority ? 1 : 0;
    const words = tokenizeRdata(content).map((token) => token.text);
    const last = fields.length - 1 - skipped;
    if (words.length < last) return undefined;
    return [...Array(skipped).fill(undefined), ...words.slice(0, last), words.slice(last).join(' ')];
  } catch (error) {
    if (error instanceof PresentationError) return undefined;
    throw error;
  }
}
