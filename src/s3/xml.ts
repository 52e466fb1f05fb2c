/**
 * XML of the S3 API. Documents of clients are small, have no document type, and nest little; answers are written here, because
 * parsers differ about characters that XML 1.0 cannot hold, and those of S3 clients expect them as references.
 */
import { isUtf8 } from 'node:buffer';
import { XMLParser } from 'fast-xml-parser';
import { S3Error } from './errors.js';

const DEEPEST = 8;
/** Tags of one item, and of everything outside items: parsing some hundred thousand blocks the process for seconds. */
const MOST_TAGS = 1000;
/** Characters that are parsed in one step: parsing some millions blocks the process as long. The longest key takes a few thousand. */
const LONGEST_PARSED = 64 * 1024;
/** Items of a document. */
const MOST_ITEMS = 10_000;
/** Characters of items that are parsed at a time; the last item may go beyond. */
const PARSED_AT_ONCE = 2048;

/** An element: its elements by local name, and its text. */
export interface Element {
  readonly children: ReadonlyMap<string, readonly Element[]>;
  readonly text: string;
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  maxNestedTags: DEEPEST,
});

type Node = Readonly<Record<string, unknown>>;

/**
 * The root of a document, which must have this name. `item`: the elements of which there may be very many; they are parsed in small
 * steps. Throws 400 MalformedXML.
 */
export function* readXml(octets: Buffer, root: string, item: string): Generator<undefined, Element> {
  // Otherwise invalid octets would become U+FFFD, which may be part of another key.
  if (!isUtf8(octets)) throw new S3Error('MalformedXML', 'The document is not UTF-8.');
  const text = octets.toString('utf8');
  // Neither a document type nor entities are needed, and both are how documents of a few octets grow.
  if (/<!(?!--|\[CDATA\[)/.test(text)) throw new S3Error('MalformedXML', 'A document type is not accepted.');
  // What looks like an item may be in a comment or a section of text; such a document is short.
  const [first, end] = text.includes('<!') ? [/$^/, /$^/g] : patternsOf(item);
  const begin = first.exec(text)?.index ?? 0;
  const children = new Map<string, Element[]>();
  const note = (found: Element): void => {
    for (const [name, elements] of found.children) {
      const known = children.get(name);
      if (known) known.push(...elements);
      else children.set(name, [...elements]);
    }
  };
  const noteItems = (from: number, to: number): void =>
    note(parseRoot(`<${root}>${text.slice(from, to)}</${root}>`, root));
  let at = begin;
  let last = begin;
  for (const match of text.matchAll(end)) {
    last = match.index + match[0].length;
    if (last - at < PARSED_AT_ONCE) continue;
    noteItems(at, last);
    at = last;
    if ((children.get(item)?.length ?? 0) > MOST_ITEMS) throw new S3Error('MalformedXML');
    yield;
  }
  noteItems(at, last);
  const frame = parseRoot(text.slice(0, begin) + text.slice(last), root);
  note(frame);
  return { text: frame.text, children };
}

/** Of the beginning and of the end of an element. */
function patternsOf(name: string): [RegExp, RegExp] {
  return [new RegExp(`<(?:[\\w.-]+:)?${name}[\\s/>]`), new RegExp(`</(?:[\\w.-]+:)?${name}\\s*>`, 'g')];
}

function parseRoot(text: string, root: string): Element {
  if (text.length > LONGEST_PARSED) throw new S3Error('MalformedXML', 'An element of the document is too long.');
  requireFewTags(text);
  let nodes: readonly Node[];
  try {
    nodes = parser.parse(text, true) as readonly Node[];
  } catch {
    throw new S3Error('MalformedXML');
  }
  const roots = nodes.filter((node) => !('#text' in node));
  const content = roots.length === 1 ? roots[0]![root] : undefined;
  if (!Array.isArray(content)) throw new S3Error('MalformedXML', `The document must be one element ${root}.`);
  return readElement(content as readonly Node[]);
}

function requireFewTags(text: string): void {
  let tags = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    if (++tags > MOST_TAGS) throw new S3Error('MalformedXML', 'The document has too many tags.');
  }
}

function readElement(nodes: readonly Node[]): Element {
  const children = new Map<string, Element[]>();
  let text = '';
  for (const node of nodes) {
    for (const [name, content] of Object.entries(node)) {
      if (name === '#text') text += decodeText(String(content));
      if (!Array.isArray(content)) continue;
      const list = children.get(name) ?? [];
      list.push(readElement(content as readonly Node[]));
      children.set(name, list);
    }
  }
  return { children, text };
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The references that XML knows without a document type. */
function decodeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(\w+));?/gi, (whole, hex, decimal, name) => {
    const known = name === undefined ? undefined : NAMED[name];
    const point = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16);
    const isPoint = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point < 0xe000);
    if (!whole.endsWith(';') || (known === undefined && !isPoint)) throw new S3Error('MalformedXML');
    return known ?? String.fromCodePoint(point);
  });
}

/** The text of the first element with a name; undefined when there is none. */
export function textOf(element: Element, name: string): string | undefined {
  return element.children.get(name)?.[0]?.text;
}

/** The texts of all elements with a name, without the white space around them. */
export function textsOf(element: Element, name: string): string[] {
  return (element.children.get(name) ?? []).map(({ text }) => text.trim());
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** Written elements. */
export type Xml = string & { readonly xml?: never };

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

const ESCAPED = /[&<>"\x00-\x1f\ufffe\uffff]/;

/** Escapes also characters that XML 1.0 cannot hold, as S3 does. */
export function escapeText(text: string): string {
  if (!ESCAPED.test(text)) return text;
  return text.replace(/[&<>"\x00-\x1f\ufffe\uffff]/g, (character) => {
    return ESCAPES[character] ?? `&#x${character.charCodeAt(0).toString(16)};`;
  });
}

/** Nothing for undefined. */
export function element(name: string, value: string | number | boolean | undefined): Xml {
  return value === undefined ? '' : `<${name}>${typeof value === 'string' ? escapeText(value) : value}</${name}>`;
}

export function parent(name: string, ...children: readonly Xml[]): Xml {
  return `<${name}>${children.join('')}</${name}>`;
}

/** A whole answer. */
export function documentOf(root: string, ...children: readonly Xml[]): Buffer {
  return Buffer.from(`${DECLARATION}<${root} xmlns="${NAMESPACE}">${children.join('')}</${root}>`);
}

/** An error has no namespace. */
export function errorDocument(code: string, message: string, resource: string, requestId: string): Buffer {
  const content = [
    element('Code', code),
    element('Message', message),
    element('Resource', resource),
    element('RequestId', requestId),
  ];
  return Buffer.from(DECLARATION + parent('Error', ...content));
}
