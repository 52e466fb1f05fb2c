/** The client of a request that proxies forwarded: `X-Forwarded-For` and `Forwarded` (RFC 7239). Pure. */
import { type CidrSet, parsePeerAddress, printIP } from '../base/ip.js';
import { remembered } from '../base/remembered.js';

/** Header fields by lower-case name, as node:http gives them. */
type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A parameter of RFC 7239 §4; a quoted value may contain commas and semicolons. */
const PAIR = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)\s*$/i;
/** Separators outside quotes. */
const COMMAS = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;
const SEMICOLONS = /;(?=(?:[^"]*"[^"]*")*[^"]*$)/;

const readPeer = remembered(1000, (text) => {
  const octets = parsePeerAddress(text);
  return { octets, canonical: octets ? printIP(octets) : text };
});

/**
 * The address of the client in canonical text; the peer's own address unless the peer is trusted. Trusted proxies are
 * followed from the last to the first; anything before the first untrusted one may be forged. Undefined when a trusted
 * proxy's fields cannot be parsed, or when both are present and contradict each other: a proxy writes one of them and
 * may pass on the other as the client sent it.
 */
export function clientAddress(peer: string, headers: HeaderFields, trusted: CidrSet): string | undefined {
  const { octets: own, canonical } = readPeer(peer);
  if (!own || trusted.texts.length === 0 || !trusted.contains(own)) return canonical;
  const forwarded = headers['forwarded']?.toString();
  const xForwardedFor = headers['x-forwarded-for']?.toString();
  const told = [
    ...(forwarded === undefined ? [] : [followBack(own, nodesOf(forwarded), trusted)]),
    ...(xForwardedFor === undefined ? [] : [followBack(own, xForwardedFor.split(','), trusted)]),
  ];
  if (told.length === 0) return canonical;
  return told.every((address) => address === told[0]) ? told[0] : undefined;
}

/**
 * The scheme that the client used, as the nearest proxy says it, if that is trusted: the last `proto` of `Forwarded`, or of
 * `X-Forwarded-Proto`. Undefined when nobody trusted says it.
 */
export function clientScheme(peer: string, headers: HeaderFields, trusted: CidrSet): string | undefined {
  const own = parsePeerAddress(peer);
  if (!own || trusted.texts.length === 0 || !trusted.contains(own)) return undefined;
  const elements = headers['forwarded']?.toString().split(COMMAS) ?? [];
  const pairs = (elements.at(-1)?.split(SEMICOLONS) ?? []).map((text) => PAIR.exec(text));
  const proto = pairs.find((pair) => pair?.[1]?.toLowerCase() === 'proto')?.[2];
  const text = proto === undefined ? headers['x-forwarded-proto']?.toString().split(',').at(-1) : unquote(proto);
  return text?.trim().toLowerCase();
}

function followBack(peer: Uint8Array, nodes: readonly string[] | undefined, trusted: CidrSet): string | undefined {
  if (!nodes) return undefined;
  let address = peer;
  for (const node of [...nodes].reverse()) {
    if (!trusted.contains(address)) break;
    const before = parseNode(node);
    if (!before) return undefined;
    address = before;
  }
  return printIP(address);
}

/** The `for` of each element; undefined when the field is malformed or an element has none. */
function nodesOf(field: string): string[] | undefined {
  const nodes = field.split(COMMAS).map((element) => {
    const pairs = element.split(SEMICOLONS).map((text) => PAIR.exec(text));
    const from = pairs.filter((pair) => pair?.[1]?.toLowerCase() === 'for');
    return pairs.includes(null) || from.length !== 1 ? undefined : unquote(from[0]![2]!);
  });
  return nodes.includes(undefined) ? undefined : (nodes as string[]);
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
}

/** An address with or without a port, IPv6 with or without brackets; neither `unknown` nor a name (RFC 7239 §6). */
function parseNode(text: string): Uint8Array | undefined {
  const node = text.trim();
  const bracketed = /^\[([^\]]*)\](?::[\w.-]+)?$/.exec(node)?.[1];
  return parsePeerAddress(bracketed ?? node.replace(/^([^:]+):[\w.-]+$/, '$1'));
}
