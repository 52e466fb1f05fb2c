/** What somebody should know of: one line of `zoneplane doctor`, and a warning wherever warnings are shown. */

/** Reasons for a warning, as programs know them. */
export const WARNING_KINDS = [
  'test-name-servers',
  'loopback-edge',
  'no-name-servers',
  'shadows-parent',
  'several-accounts',
  'trusted-names',
  'zone-never-transferred',
  'zone-expired',
  'zone-not-refreshed',
  'zone-not-published',
  'policy-record',
  'secondary-behind',
  'secondary-ahead',
  'secondary-unreachable',
  'catalog-broken',
  'catalog-held',
  'catalog-members',
  'catalog-never-transferred',
  'certificate-missing',
  'certificate-failing',
  'certificate-ending',
  'signatures-early',
  'signatures-ending',
  'ds-without-key',
  'ds-not-as-asked',
  'update-key-without-zone',
  'update-key-weak',
  'quota-nearly-used',
  'job-failing',
  'pool-unhealthy',
  'balancer-held',
  'probing-stopped',
  'monitors-unprobed',
  'places-missing',
  'places-damaged',
  'places-old',
  'alerts-off',
  'alerts-failing',
  'resolver-failing',
  'backup-missing',
  'backup-old',
  'backup-differs',
  'node-gone',
  'node-stopped',
  'node-behind',
  'node-versions',
  'cluster-away',
  'cluster-stopped',
] as const;

export type WarningKind = (typeof WARNING_KINDS)[number];

export interface Finding {
  /** What was looked at. */
  readonly what: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
  /** Only of warnings. */
  readonly kind?: WarningKind;
  /** Identifier of the zone that it is about, if it is one. */
  readonly zoneId?: string;
}

/** A finding that needs somebody. */
export interface Warning extends Finding {
  readonly verdict: 'warn' | 'fail';
  readonly kind: WarningKind;
  readonly remedy: string;
}

export function isWarning(finding: Finding): finding is Warning {
  return finding.kind !== undefined;
}

/** How many of each kind there are; kinds without any too. */
export function countWarnings(findings: readonly Finding[]): Readonly<Record<WarningKind, number>> {
  const counts = Object.fromEntries(WARNING_KINDS.map((kind) => [kind, 0])) as Record<WarningKind, number>;
  for (const { kind } of findings) if (kind !== undefined) counts[kind]++;
  return counts;
}

/** Findings of one kind that are named; the others are counted. */
const MOST_NAMED = 5;

/** The same without a flood of one kind: the first ones of each, and how many more there are. */
export function nameSome(findings: readonly Finding[]): Finding[] {
  const seen = new Map<WarningKind, number>();
  const counts = countWarnings(findings);
  return findings.flatMap((finding) => {
    const { kind } = finding;
    if (kind === undefined) return [finding];
    const number = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, number);
    if (number <= MOST_NAMED) return [finding];
    if (number > MOST_NAMED + 1) return [];
    const { what, verdict, remedy } = finding;
    const more = counts[kind] - MOST_NAMED;
    return [{ what, verdict, kind, text: `${more} more like the last one`, ...(remedy !== undefined && { remedy }) }];
  });
}
