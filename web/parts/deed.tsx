/** What was done to what, as the audit log has it. */
import type { AuditLog } from '../types.js';

const VERBS: Readonly<Record<string, string>> = {
  create: 'created',
  add: 'added',
  update: 'changed',
  edit: 'changed',
  change: 'changed',
  delete: 'deleted',
  remove: 'removed',
  enable: 'switched on',
  disable: 'switched off',
  replace: 'replaced',
  import: 'imported',
  restore: 'restored',
  put: 'set',
  set: 'set',
  bind: 'bound',
  roll: 'given a new secret',
  revoke: 'revoked',
  move: 'moved',
  expire: 'expired',
  transfer: 'transferred',
  export: 'exported',
  prove: 'proven',
  rollover: 'keys replaced',
  rollover_wait: 'waits in its rollover',
  ds_seen: 'has its DS record at the parent',
  ds_wait: 'waits for its DS record',
  fail: 'failed',
  issue: 'issued',
  transfer_fail: 'could not be transferred',
  transfer_recover: 'is transferred again',
  behind: 'is behind',
  recover: 'is up to date again',
  refuse: 'refused',
  overdue: 'overdue',
  withhold: 'no longer served',
  serve: 'served',
  suspend: 'suspended',
  resume: 'resumed',
  revive: 'served again',
  activate: 'activated',
  force_notify: 'announced',
  force_axfr: 'fetched anew',
  dns_settings: 'DNS settings changed',
  purge: 'purged',
  health: 'changed its health',
  apply: 'applied',
};
const NOUNS: Readonly<Record<string, string>> = {
  tsig: 'TSIG key',
  dnssec: 'DNSSEC',
  outgoing: 'Transfers to secondaries',
  incoming: 'Transfers from primaries',
  batch: 'Several records',
  dns_settings: 'DNS settings',
  zone_settings: 'Zone setting',
  sign_in: 'Sign-in',
  key: 'Credential',
  bucket_cors: 'CORS rules of the bucket',
  bucket_lifecycle: 'Lifecycle rules of the bucket',
  bucket_lock: 'Locks of the bucket',
  monitor_group: 'Group of monitors',
  dns_template: 'Template',
};

/** `zone.create` as «Zone created». */
function actionInWords(action: string): string {
  const [noun = '', verb = ''] = action.split('.');
  return sentence(`${NOUNS[noun] ?? noun.replaceAll('_', ' ')} ${VERBS[verb] ?? verb.replaceAll('_', ' ')}`.trim());
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `zone.delete` of example.com as «Zone deleted example.com». */
export function Deed({ entry: { action, resource, metadata } }: { readonly entry: AuditLog }) {
  const { name } = resource;
  const zone = metadata.zone_name;
  const isOfZone = zone !== undefined && name !== undefined && name !== zone && !name.includes(zone);
  return (
    <>
      <span title={action.type}>{actionInWords(action.type)}</span> <bdi>{name ?? zone ?? ''}</bdi>
      {isOfZone && <span class="muted"> in {zone}</span>}
    </>
  );
}

/** Members that change with everything. */
const UNTOLD = new Set(['modified_on', 'modifiedOn', 'modifiedAt', 'modified_at', 'version']);
const MOST_SHOWN = 3;
const LONGEST = 60;

/** The values that are others now, the first few of them. */
export function Difference({ entry: { oldValueJson: before, newValueJson: after } }: { readonly entry: AuditLog }) {
  const changed = changesOf(membersOf(before), membersOf(after));
  if (before === undefined || after === undefined || changed.length === 0) return null;
  return (
    <span class="muted">
      {changed.slice(0, MOST_SHOWN).map(([member, was, is]) => (
        <div key={member}>
          {member.replaceAll('_', ' ')}: <bdi>{was}</bdi> → <bdi>{is}</bdi>
        </div>
      ))}
      {changed.length > MOST_SHOWN && <div>and {changed.length - MOST_SHOWN} more</div>}
    </span>
  );
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function changesOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): (readonly [member: string, was: string, is: string])[] {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !UNTOLD.has(name));
  return members.flatMap((name) => {
    const [was, is] = [shown(before[name]), shown(after[name])];
    return was === is ? [] : [[name, was, is] as const];
  });
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'none';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
