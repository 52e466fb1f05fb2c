/** Rules of zones at the edge, one set for each phase, and the page rules of a zone. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const RULESET = columns({
  id: column<Uint8Array>(),
  /** Store numbers of the zone and of its account. */
  zone: column<number>(),
  account: column<number>(),
  phase: column<string>(),
  name: column<string>(),
  description: column<string>(),
  /** JSON list. */
  rules: column<string>(),
  octets: column<number>(),
  /** Another one after every change. */
  version: column<number>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface RulesetRow extends RowOf<typeof RULESET> {
  readonly seq: number;
}

export type NewRuleset = RowOf<typeof RULESET>;

const VALUES = RULESET.only('name', 'description', 'rules', 'octets', 'version', 'modified_at');

const statements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], RulesetRow>('SELECT * FROM rulesets WHERE id = ?'),
  at: store.prepare<[zone: number, phase: string], RulesetRow>('SELECT * FROM rulesets WHERE zone = ? AND phase = ?'),
  ofZone: store.prepare<[zone: number], RulesetRow>('SELECT * FROM rulesets WHERE zone = ? ORDER BY phase'),
  insert: store.prepare<SqlValue[]>(insertion('rulesets', RULESET)),
  update: store.prepare<SqlValue[]>(`UPDATE rulesets SET ${VALUES.assignments} WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM rulesets WHERE seq = ?'),
}));

export function findRulesetById(store: Store, id: Uint8Array): RulesetRow | undefined {
  return statements(store).byId.get(id);
}

/** `zone`: store number. */
export function rulesetAt(store: Store, zone: number, phase: string): RulesetRow | undefined {
  return statements(store).at.get(zone, phase);
}

/** All of the zone, its page rules too. */
export function rulesetsOfZone(store: Store, zone: number): RulesetRow[] {
  return statements(store).ofZone.all(zone);
}

export function insertRuleset(store: Store, row: NewRuleset): void {
  statements(store).insert.run(...RULESET.values(row));
}

export function updateRuleset(store: Store, seq: number, row: RowOf<typeof VALUES>): void {
  statements(store).update.run(...VALUES.values(row), seq);
}

export function removeRuleset(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
