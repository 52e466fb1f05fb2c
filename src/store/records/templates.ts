/** Named sets of records with variables, which accounts apply to their zones; and what of them was applied where. */
import { allRows, column, columns, insertion, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const TEMPLATE = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  name: column<string>(),
  description: column<string>(),
  /** JSON lists. */
  variables: column<string>(),
  records: column<string>(),
  /** Counts the states that its owner made. */
  version: column<number>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface TemplateRow extends RowOf<typeof TEMPLATE> {
  readonly seq: number;
}

/** What its owner sets. */
const VALUES = TEMPLATE.only('name', 'description', 'variables', 'records', 'version', 'modified_at');

/** A zone to which a template was applied. */
export interface TemplateZoneRow {
  readonly template: number;
  readonly zone: number;
  /** JSON object: the values of variables. */
  readonly given: string;
  /** Of the template. */
  readonly version: number;
  readonly applied_at: number;
}

/** A record of a zone that came from a template. */
export interface TemplateRecordRow {
  /** Type, owner and data that the template gave it. */
  readonly place: string;
  /** Its identifier. */
  readonly record: Uint8Array;
  /** The state that the template gave it. */
  readonly applied: string;
}

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('dns_templates', TEMPLATE)),
  update: store.prepare<SqlValue[]>(`UPDATE dns_templates SET ${VALUES.assignments} WHERE seq = ?`),
  putZone: store.prepare<[template: number, zone: number, given: string, version: number, at: number]>(
    `INSERT INTO template_zones (template, zone, given, version, applied_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (template, zone) DO UPDATE SET given = excluded.given, version = excluded.version,
       applied_at = excluded.applied_at`,
  ),
  forget: store.prepare<[template: number, zone: number]>(
    'DELETE FROM template_records WHERE template = ? AND zone = ?',
  ),
  remember: store.prepare<[template: number, zone: number, place: string, record: Uint8Array, applied: string]>(
    'INSERT INTO template_records (template, zone, place, record, applied) VALUES (?, ?, ?, ?, ?)',
  ),
}));

export const findTemplateById = oneRow<[id: Uint8Array], TemplateRow>('SELECT * FROM dns_templates WHERE id = ?');

export const findTemplateByName = oneRow<[account: number, name: string], TemplateRow>(
  'SELECT * FROM dns_templates WHERE account = ? AND name = ?',
);

/** By name. */
export const templatesOfAccount = allRows<[account: number], TemplateRow>(
  'SELECT * FROM dns_templates WHERE account = ? ORDER BY name, seq',
);

export function insertTemplate(store: Store, row: Omit<TemplateRow, 'seq'>): void {
  statements(store).insert.run(...TEMPLATE.values(row));
}

export function updateTemplate(store: Store, row: TemplateRow): void {
  statements(store).update.run(...VALUES.values(row), row.seq);
}

/** The records that came from it stay. */
export const removeTemplate = runs<[seq: number]>('DELETE FROM dns_templates WHERE seq = ?');

export const findTemplateZone = oneRow<[template: number, zone: number], TemplateZoneRow>(
  'SELECT * FROM template_zones WHERE template = ? AND zone = ?',
);

/** Zones to which a template was applied, no more than `limit`. */
export const zonesOfTemplate = allRows<[template: number, limit: number], TemplateZoneRow>(
  'SELECT * FROM template_zones WHERE template = ? ORDER BY zone LIMIT ?',
);

/** The records of a zone that came from a template. */
export const templateRecords = allRows<[template: number, zone: number], TemplateRecordRow>(
  'SELECT place, record, applied FROM template_records WHERE template = ? AND zone = ? ORDER BY place',
);

/** Remembers that a template was applied to a zone, and which records of it are the template's now. */
export function rememberApplied(store: Store, row: TemplateZoneRow, records: readonly TemplateRecordRow[]): void {
  const { putZone, forget, remember } = statements(store);
  putZone.run(row.template, row.zone, row.given, row.version, row.applied_at);
  forget.run(row.template, row.zone);
  for (const { place, record, applied } of records) remember.run(row.template, row.zone, place, record, applied);
}
