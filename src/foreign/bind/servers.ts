/** Lists of servers of BIND: `primaries`, `also-notify`, and what `server` says about them. */
import { parseIP } from '../../base/ip.js';
import type { ServerStatement } from '../configuration.js';
import { faultAt } from '../place.js';
import { readPort } from '../port.js';
import { type Block, blockOf, type Clause, isWord, nameOf, wordsOf } from './clauses.js';

const MOST_DEPTH = 16;

/** Statements that name a list of servers; all of them are one kind of list. */
export const SERVER_LISTS: ReadonlySet<string> = new Set(['primaries', 'masters', 'remote-servers', 'parental-agents']);

export interface ServerFacts {
  readonly lists: ReadonlyMap<string, Clause>;
  /** By address: the key that `server` names. */
  readonly keys: ReadonlyMap<string, string>;
  /** By name of a `tls` statement: the name that certificates must have. */
  readonly tls: ReadonlyMap<string, Clause>;
}

/** The servers of `primaries [port 53] { … }` and the like. */
export function readServers(statement: Clause, facts: ServerFacts, open: readonly string[] = []): ServerStatement[] {
  const block = blockOf(statement);
  if (!block) throw faultAt(statement.place, `${nameOf(statement)} takes a list in braces`);
  const port = optionOf(statement, 'port');
  const usual = port === undefined ? undefined : readPort(port, statement.place);
  return block.statements.flatMap((element) => readServer(element, usual, facts, open));
}

function optionOf({ parts }: Clause, name: string): string | undefined {
  const at = parts.findIndex((part) => isWord(part) && !part.isQuoted && part.text.toLowerCase() === name);
  const value = at === -1 ? undefined : parts[at + 1];
  return isWord(value) ? value.text : undefined;
}

function readServer(
  element: Clause,
  usual: number | undefined,
  facts: ServerFacts,
  open: readonly string[],
): ServerStatement[] {
  const { place, parts } = element;
  const [first] = parts;
  if (!isWord(first)) throw faultAt(place, 'expected the address of a server');
  const key = optionOf(element, 'key');
  const port = optionOf(element, 'port');
  const tls = optionOf(element, 'tls');
  if (parseIP(first.text)) {
    return [
      {
        address: first.text,
        port: port === undefined ? usual : readPort(port, place),
        key: key ?? facts.keys.get(first.text),
        ...(tls !== undefined && tlsOf(tls, facts)),
        place,
      },
    ];
  }
  const list = facts.lists.get(first.text.toLowerCase());
  if (!list) throw faultAt(place, `there is no list of servers ${first.text}, and it is not an address`);
  // As named does: a list is read once.
  if (open.includes(first.text.toLowerCase())) return [];
  if (open.length >= MOST_DEPTH) throw faultAt(place, `lists of servers are nested more than ${MOST_DEPTH} deep`);
  return readServers(list, facts, [...open, first.text.toLowerCase()]).map((server) => ({
    ...server,
    port: server.port ?? usual,
    key: key ?? server.key,
  }));
}

/** `ephemeral` and a `tls` without a name to check would trust everybody. */
function tlsOf(name: string, { tls }: ServerFacts): Pick<ServerStatement, 'tlsName' | 'tlsFault'> {
  const named = tls.get(name);
  const tlsName = named && valueIn(blockOf(named), 'remote-hostname');
  return tlsName === undefined
    ? { tlsFault: `tls ${name} does not say which name its certificate must have` }
    : { tlsName };
}

/** The first value of a statement in a block. */
export function valueIn(block: Block | undefined, name: string): string | undefined {
  const statement = block?.statements.find((other) => nameOf(other) === name);
  return statement && wordsOf(statement)[0]?.text;
}
