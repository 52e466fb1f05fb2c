/** Rules of zones at the edge, one set for each phase, and the page rules of a zone. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';
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

const VALUES = RULESET.only('name', 'description', 'rules', 'octets', 'version', 'modified_at');

const statements = perStore((store) => ({
  update: store.prepare<SqlValue[]>(`UPDATE rulesets SET ${VALUES.assignments} WHERE seq = ?`),
}));

export const findRulesetById = oneRow<[id: Uint8Array], RulesetRow>('SELECT * FROM rulesets WHERE id = ?');

/** `zone`: store number. */
export const rulesetAt = oneRow<[zone: number, phase: string], RulesetRow>(
  'SELECT * FROM rulesets WHERE zone = ? AND phase = ?',
);

/** All of the zone, its page rules too. */
export const rulesetsOfZone = allRows<[zone: number], RulesetRow>(
  'SELECT * FROM rulesets WHERE zone = ? ORDER BY phase',
);

export const insertRuleset = inserts('rulesets', RULESET);

export function updateRuleset(store: Store, seq: number, row: RowOf<typeof VALUES>): void {
  statements(store).update.run(...VALUES.values(row), seq);
}

export const removeRuleset = runs<[seq: number]>('DELETE FROM rulesets WHERE seq = ?');
