/** The form for DNS settings: those of a zone, and those with which the zones of an account begin. */

import { useEffect, useState } from 'preact/hooks';
import { Button } from '../kit/button.js';
import { Switch, TextField } from '../kit/form.js';
import type { DnsSettings } from '../types.js';

type Soa = DnsSettings['soa'];
type Timer = 'refresh' | 'retry' | 'expire' | 'min_ttl' | 'ttl';
type Flag = 'multi_provider' | 'flatten_all_cnames' | 'secondary_overrides';

/** The members that the form edits, as text. */
type Values = Record<'mname' | 'rname' | 'ns_ttl' | Timer, string> & Record<Flag, boolean>;

/** What PATCH takes: only what was changed. */
export type DnsSettingsChange = Partial<Pick<DnsSettings, Flag | 'ns_ttl'>> & { readonly soa?: Partial<Soa> };

interface NumberField {
  readonly member: Timer | 'ns_ttl';
  readonly label: string;
  readonly least: number;
  readonly most: number;
  readonly hint: string;
}

const NUMBERS: readonly NumberField[] = [
  {
    member: 'refresh',
    label: 'Refresh (seconds)',
    least: 600,
    most: 86_400,
    hint: 'How often secondaries look for changes of which they were not told.',
  },
  {
    member: 'retry',
    label: 'Retry (seconds)',
    least: 600,
    most: 86_400,
    hint: 'When they look again after a failure. At most Refresh.',
  },
  {
    member: 'expire',
    label: 'Expire (seconds)',
    least: 86_400,
    most: 2_419_200,
    hint: 'How long they answer without having reached this server.',
  },
  {
    member: 'min_ttl',
    label: 'Negative answers (seconds)',
    least: 60,
    most: 86_400,
    hint: 'How long resolvers remember that a name or type does not exist.',
  },
  { member: 'ttl', label: 'TTL of SOA (seconds)', least: 300, most: 86_400, hint: 'How long resolvers keep the SOA.' },
  {
    member: 'ns_ttl',
    label: 'TTL of NS (seconds)',
    least: 30,
    most: 86_400,
    hint: 'How long resolvers keep the name servers.',
  },
];

const FLAGS: readonly { readonly flag: Flag; readonly label: string; readonly hint: string }[] = [
  {
    flag: 'multi_provider',
    label: 'Also answer the NS records of the list',
    hint: 'For a domain that other providers serve, too: NS records at its apex join the name servers of this service.',
  },
  {
    flag: 'flatten_all_cnames',
    label: 'Flatten every CNAME',
    hint: 'Names with a CNAME answer the addresses of its target, as the apex always does.',
  },
];

const OVERRIDES = {
  flag: 'secondary_overrides',
  label: 'Names of this zone can be proxied here',
  hint: 'A, AAAA and CNAME records that come from the primary can be proxied, and CNAME records be made at its apex.',
} as const;

interface DnsSettingsFormProps {
  readonly settings: DnsSettings;
  /** A zone whose records come from another server has the SOA of that server. */
  readonly isSecondary: boolean;
  readonly writes: boolean;
  readonly busy: boolean;
  readonly onSave: (change: DnsSettingsChange) => void;
  /** Hears each change, for showing the request. */
  readonly onChange: (change: DnsSettingsChange) => void;
}

export function DnsSettingsForm({ settings, isSecondary, writes, busy, onSave, onChange }: DnsSettingsFormProps) {
  const [values, setValues] = useState(() => valuesOf(settings));
  useEffect(() => setValues(valuesOf(settings)), [settings]);
  const change = changeOf(settings, values);
  const text = JSON.stringify(change);
  useEffect(() => onChange(JSON.parse(text)), [text]);
  const set = (part: Partial<Values>): void => setValues({ ...values, ...part });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onSave(change);
  };
  return (
    <form onSubmit={submit}>
      {!isSecondary && <Names values={values} writes={writes} onChange={set} />}
      {!isSecondary && <Numbers values={values} writes={writes} onChange={set} />}
      {(isSecondary ? [OVERRIDES] : FLAGS).map(({ flag, label, hint }) => (
        <Switch
          key={flag}
          label={`${label} `}
          hint={hint}
          checked={values[flag]}
          disabled={!writes}
          onChange={(checked) => set({ [flag]: checked })}
        />
      ))}
      {writes && (
        <div class="actions">
          <button type="submit" class="primary" disabled={busy || text === '{}'}>
            {busy ? 'Saving…' : 'Save'}
          </button>
          {text !== '{}' && <Button onClick={() => setValues(valuesOf(settings))} text="Undo" />}
        </div>
      )}
    </form>
  );
}

interface FieldsProps {
  readonly values: Values;
  readonly writes: boolean;
  readonly onChange: (part: Partial<Values>) => void;
}

function Names({ values: { mname, rname }, writes, onChange }: FieldsProps) {
  return (
    <div class="fields">
      <TextField
        label="Primary name server"
        value={mname}
        readOnly={!writes}
        spellcheck={false}
        placeholder="chosen by the service"
        onChange={(mname) => onChange({ mname })}
        hint="Leave it empty for the first name server of this service."
      />
      <TextField
        label="Contact"
        required
        value={rname}
        readOnly={!writes}
        spellcheck={false}
        onChange={(value) => onChange({ rname: mailboxName(value) })}
        hint="A mail address with a dot instead of @, such as hostmaster.example.com."
      />
    </div>
  );
}

function Numbers({ values, writes, onChange }: FieldsProps) {
  return (
    <div class="fields">
      {NUMBERS.map(({ member, label, least, most, hint }) => (
        <label class="field" key={member}>
          <span>{label}</span>
          <input
            type="number"
            required
            min={least}
            max={most}
            value={values[member]}
            readOnly={!writes}
            onInput={(event) => onChange({ [member]: event.currentTarget.value })}
          />
          <span class="hint">
            {hint} From {least} to {most}.
          </span>
        </label>
      ))}
    </div>
  );
}

/** `hostmaster@example.com` becomes `hostmaster.example.com` (RFC 1035 §8). */
function mailboxName(text: string): string {
  const [local, domain, ...more] = text.split('@');
  return domain === undefined || domain === '' || more.length > 0 || local!.includes('.') ? text : `${local}.${domain}`;
}

function valuesOf({ soa, ns_ttl, multi_provider, flatten_all_cnames, secondary_overrides }: DnsSettings): Values {
  return {
    mname: soa.mname ?? '',
    rname: soa.rname,
    refresh: String(soa.refresh),
    retry: String(soa.retry),
    expire: String(soa.expire),
    min_ttl: String(soa.min_ttl),
    ttl: String(soa.ttl),
    ns_ttl: String(ns_ttl),
    multi_provider,
    flatten_all_cnames,
    secondary_overrides,
  };
}

function changeOf(settings: DnsSettings, values: Values): DnsSettingsChange {
  const soa: Partial<Soa> = {};
  const mname = values.mname.trim() || null;
  const rname = values.rname.trim();
  if (mname !== settings.soa.mname) soa.mname = mname;
  if (rname !== settings.soa.rname) soa.rname = rname;
  for (const member of ['refresh', 'retry', 'expire', 'min_ttl', 'ttl'] as const) {
    if (Number(values[member]) !== settings.soa[member]) soa[member] = Number(values[member]);
  }
  const change: DnsSettingsChange & Partial<Record<Flag, boolean>> = {
    ...(Number(values.ns_ttl) !== settings.ns_ttl && { ns_ttl: Number(values.ns_ttl) }),
    ...(Object.keys(soa).length > 0 && { soa }),
  };
  for (const { flag } of [...FLAGS, OVERRIDES]) if (values[flag] !== settings[flag]) change[flag] = values[flag];
  return change;
}
