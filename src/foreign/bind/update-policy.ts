/** `update-policy` and `allow-update` of BIND: which keys may change what. */
import type { Note, UpdateStatement } from '../configuration.js';
import type { Place } from '../place.js';
import { blockOf, type Clause, isWord, nameOf, wordsOf } from './clauses.js';
import { type NamedLists, readMatchList } from './match-lists.js';

export interface Updates {
  readonly updates: readonly UpdateStatement[];
  readonly notes: readonly Note[];
}

/** What a rule without types may not change. */
const NOT_MEANT = ['SOA', 'NS', 'RRSIG', 'NSEC', 'NSEC3'] as const;
const FINAL_DOT = /\.$/;

export function readAllowUpdate(statement: Clause, lists: NamedLists): Updates {
  const block = blockOf(statement);
  if (!block) return { updates: [], notes: [] };
  const { grants, notes } = readMatchList(block, lists);
  const byAddress = grants.filter(({ key }) => key === undefined);
  const text = (what: string): string => `${what}: updates without a signature are not taken; give the client a key`;
  return {
    updates: grants.flatMap(({ key, place }) => (key === undefined ? [] : [{ key, place }])),
    notes: [
      ...notes,
      ...byAddress.map(
        ({ place, text: written = 'any' }): Note => ({ kind: 'none', place, text: text(`allow-update ${written}`) }),
      ),
    ],
  };
}

/** `zone`: its name without the final dot. */
export function readUpdatePolicy(statement: Clause, zone: string): Updates {
  const block = blockOf(statement);
  const updates: UpdateStatement[] = [];
  const notes: Note[] = [];
  const none = (place: Place, text: string): void => void notes.push({ kind: 'none', place, text });
  if (!block)
    none(
      statement.place,
      `update-policy ${wordsOf(statement)[0]?.text ?? ''}: its key is made anew at each start; make one: zoneplane tsig create NAME --zone ${zone}`,
    );
  let isDenied = false;
  for (const rule of block?.statements ?? []) {
    const [key, kind, ...more] = wordsOf(rule).map(({ text }) => text);
    const written = rule.parts.map((part) => (isWord(part) ? part.text : '{…}')).join(' ');
    if (nameOf(rule) !== 'grant') {
      none(rule.place, `${written}: a key has no rules that forbid; what follows it is not granted`);
      isDenied = true;
    } else if (!isDenied) {
      const scope = key === undefined || kind === undefined ? undefined : scopeOf(key, kind.toLowerCase(), more, zone);
      if (scope) updates.push({ key: key!, ...scope, place: rule.place });
      else none(rule.place, `${written}: keys may change the records of a zone by their names and types only`);
    }
  }
  return { updates, notes };
}

type Scope = Pick<UpdateStatement, 'names' | 'types' | 'without'>;

function scopeOf(key: string, kind: string, words: readonly string[], zone: string): Scope | undefined {
  const [name, ...rest] = words;
  // Elsewhere than in `wildcard` it is a label like others there, and would stand for all names here.
  const literal = kind.startsWith('self') ? key : name;
  if (kind !== 'wildcard' && kind !== 'zonesub' && literal?.includes('*')) return undefined;
  const full = (text: string | undefined): string => absolute(text ?? '', zone);
  switch (kind) {
    case 'zonesub':
      return typesOf(words);
    case 'name':
      return { names: [full(name)], ...typesOf(rest) };
    case 'wildcard':
      // There `*` stands for whole labels, and here for any characters: with a single one in front it is the same.
      return /^\*\.[^*]+$/.test(full(name)) ? { names: [full(name)], ...typesOf(rest) } : undefined;
    case 'subdomain':
      return { names: [full(name), `*.${full(name)}`], ...typesOf(rest) };
    case 'self':
      return { names: [absolute(key, '')], ...typesOf(rest) };
    case 'selfsub':
      return { names: [absolute(key, ''), `*.${absolute(key, '')}`], ...typesOf(rest) };
    case 'selfwild':
      return { names: [`*.${absolute(key, '')}`], ...typesOf(rest) };
    default:
      return undefined;
  }
}

/** Names in rules are absolute with or without a final dot; `@` is not a name there. */
function absolute(text: string, zone: string): string {
  return text === '@' ? zone : text.replace(FINAL_DOT, '').toLowerCase();
}

function typesOf(words: readonly string[]): Scope {
  // The number of records of a type, as in `A(2)`, cannot be limited; such a rule grants the type.
  const types = words.map((text) => text.replace(/\(\d+\)$/, '').toUpperCase());
  if (types.length === 0) return { without: NOT_MEANT };
  return types.includes('ANY') ? {} : { types };
}
