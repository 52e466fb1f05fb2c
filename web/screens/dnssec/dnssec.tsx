/** DNSSEC of a zone: its state in plain words, the DS record to copy, what the parent has, keys and rollovers. */

import type { ComponentChildren } from 'preact';
import { Button } from '../../kit/button.js';
import { Switch } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Facts, Panel } from '../../parts/facts.js';
import { ErrorNote, Loading, WORKING } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { DnssecKey, Dnssec as DnssecState, DnssecStatus } from '../../types.js';
import { SaidByHand } from './said-by-hand.js';
import { Willing } from './willing.js';

const REFRESH_MS = 10_000;

/** What is known of the signing of a zone, and what can be done about it. */
function useDnssec(path: string) {
  const state = useLoad<DnssecState>(path, { everyMs: REFRESH_MS, told: true });
  const isSigned = state.answer !== undefined && state.answer.result.status !== 'disabled';
  const status = useLoad<DnssecStatus>(isSigned ? `${path}/status` : undefined, { everyMs: REFRESH_MS, told: true });
  const keys = useLoad<DnssecKey[]>(isSigned ? `${path}/keys` : undefined, { everyMs: REFRESH_MS, told: true });
  const reload = (): void => {
    for (const loaded of [state, status, keys]) loaded.reload();
  };
  const sending = useSending(reload);
  const change = (body: object): void => void sending.send('PATCH', path, { body });
  const roll = (role: 'zsk' | 'ksk'): void => void sending.send('POST', `${path}/rollover`, { body: { role } });
  return { state, isSigned, status, keys, reload, sending, change, roll };
}

export default function Dnssec({ zone }: ZoneScreenProps) {
  const path = `/zones/${zone.id}/dnssec`;
  const { state, isSigned, status, keys, reload, sending, change, roll } = useDnssec(path);
  const writes = mayWrite(usePermissions(), 'dns');
  if (state.error) return <ErrorNote error={state.error} onRetry={reload} />;
  if (!state.answer) return <Loading what="DNSSEC" />;
  const dnssec = state.answer.result;
  const next = dnssec.status === 'active' || dnssec.status === 'pending' ? 'disabled' : 'active';
  // Who serves a zone for others, or while it is being signed, cannot add records to it.
  const hasZonesBelow =
    zone.type !== 'secondary' && !dnssec.dnssec_presigned && status.answer?.result.progress === null;
  return (
    <>
      <Said dnssec={dnssec} status={status.answer?.result} keys={keys.answer?.result ?? []}>
        {writes && next === 'active' && (
          <Button
            class="primary"
            disabled={sending.busy}
            onClick={() => change({ status: next })}
            text={sending.busy ? WORKING : 'Sign this zone'}
          />
        )}
        {writes && next === 'disabled' && (
          <Confirm
            verb="Stop signing"
            what={zone.name}
            busy={sending.busy}
            onConfirm={() => change({ status: next })}
          />
        )}
      </Said>
      {sending.error && <ErrorNote error={sending.error} />}
      {isSigned && dnssec.ds !== null && (
        <ForTheParent path={writes ? path : undefined} dnssec={dnssec} status={status.answer?.result} />
      )}
      {isSigned && keys.answer && (
        <Keys
          keys={keys.answer.result}
          onRoll={writes && dnssec.status === 'active' ? roll : undefined}
          busy={sending.busy}
        />
      )}
      {isSigned && status.answer && (
        <Signatures
          status={status.answer.result}
          onDeny={writes && !dnssec.dnssec_presigned ? (denial) => change({ denial }) : undefined}
          busy={sending.busy}
        />
      )}
      {isSigned && hasZonesBelow && (
        <ZonesBelow
          path={path}
          isTaking={dnssec.dnssec_parental_agent}
          onTake={writes ? (wanted) => change({ dnssec_parental_agent: wanted }) : undefined}
          busy={sending.busy}
        />
      )}
      <Curl
        request={{ method: 'PATCH', path, body: { status: next } }}
        {...(writes &&
          dnssec.status === 'active' && {
            others: { 'Replace the ZSK': { method: 'POST', path: `${path}/rollover`, body: { role: 'zsk' } } },
          })}
      />
    </>
  );
}

const WORDS: Readonly<Record<DnssecState['status'], readonly [title: string, text: string, tone: string]>> = {
  disabled: [
    'This zone is not signed',
    'Resolvers cannot tell whether somebody changed its answers on the way. Signing costs nothing, and the zone stays reachable for everybody until you give its DS record to the parent.',
    'wait',
  ],
  pending: [
    'Signed; the parent does not know it yet',
    'All answers have signatures. Give the DS record below to your registrar: resolvers begin to check when every server of the parent has it.',
    'wait',
  ],
  active: [
    'Signed and checked by resolvers',
    'Every server of the parent has the DS record. Keys and signatures are renewed without you.',
    'good',
  ],
  'pending-disabled': [
    'Being switched off',
    'Remove the DS record at your registrar. Signatures stay until no server of the parent has it, so that the zone never fails.',
    'wait',
  ],
};

/** The same where the parent is served here and takes the DS record by itself. */
const BY_ITSELF: Readonly<Partial<Record<DnssecState['status'], string>>> = {
  pending:
    'All answers have signatures. The parent zone is served here and takes the DS record by itself: there is nothing for you to do. Resolvers begin to check when every server of the parent has it.',
  'pending-disabled':
    'The parent zone is served here and removes the DS record by itself. Signatures stay until no server of the parent has it, so that the zone never fails.',
};

/** The same where the parent is served here and would take it, too. */
const BY_THE_PARENT: Readonly<Partial<Record<DnssecState['status'], string>>> = {
  pending:
    'All answers have signatures. The parent zone is served here, too: add the DS record below to it, or let it take the DS record by itself. Resolvers begin to check when every server of the parent has it.',
  'pending-disabled':
    'Remove the DS record from the parent zone, which is served here, too. Signatures stay until no server of the parent has it, so that the zone never fails.',
};

interface SaidProps {
  readonly dnssec: DnssecState;
  readonly status: DnssecStatus | undefined;
  readonly keys: readonly DnssecKey[];
  readonly children: ComponentChildren;
}

function Said({ dnssec, status, keys, children }: SaidProps) {
  const [title, usual, tone] = WORDS[dnssec.status];
  const { taken_by: taker = null, could_take: willing = null } = status?.parent ?? {};
  const words = taker !== null ? BY_ITSELF : willing !== null ? BY_THE_PARENT : {};
  const text = words[dnssec.status] ?? usual;
  // Until then resolvers may have answers without signatures, which they would reject.
  const early = keys.find(({ ds, state, until }) => ds !== null && state === 'published' && until !== null)?.until;
  return (
    <section class={`statement statement-${tone}`}>
      <div>
        <h2>{title}</h2>
        <p>{text}</p>
        {dnssec.status === 'pending' && early != null && (
          <p>
            {taker === null ? 'Wait until ' : 'That happens after '}
            <Time at={early} exact />
            {taker === null ? ' with that' : ''}: some resolvers still remember answers without signatures.
          </p>
        )}
        {willing && <Willing {...willing} />}
        {status?.progress != null && <p>Signing: {Math.floor(status.progress * 100)} % of the zone is done.</p>}
        {status?.failure != null && <p class="problem">Nothing can be signed at present: {status.failure}</p>}
      </div>
      {children}
    </section>
  );
}

interface ZonesBelowProps {
  readonly path: string;
  readonly isTaking: boolean;
  /** Undefined for those who may not change it. */
  readonly onTake: ((wanted: boolean) => void) | undefined;
  readonly busy: boolean;
}

/** The other side of {@link ForTheParent}: this zone as the parent of zones that are served here, too. */
function ZonesBelow({ path, isTaking, onTake, busy }: ZonesBelowProps) {
  const state = isTaking ? <span class="chip good">Takes DS records</span> : <span class="chip">Added by hand</span>;
  return (
    <Panel title="Zones below this one" aside={state}>
      <p class="muted">
        {isTaking
          ? 'When a zone below this one is signed on this server, its DS record appears in this zone by itself. It is replaced with the keys, and removed when the zone is no longer signed.'
          : 'Resolvers check a signed zone below this one only when its DS record is in this zone. If both belong to the same account, this zone can take the record by itself.'}
      </p>
      {onTake && (
        <Switch
          label="Take the DS records of zones below it"
          checked={isTaking}
          disabled={busy}
          onChange={() => onTake(!isTaking)}
        />
      )}
      <p class="hint">
        The zones must be delegated with NS records in this one. DS records that you added for them are replaced. When
        this is turned off, those that are there stay.
      </p>
      {onTake && <Curl request={{ method: 'PATCH', path, body: { dnssec_parental_agent: !isTaking } }} />}
    </Panel>
  );
}

interface ForTheParentProps {
  /** Undefined for those who may not change it. */
  readonly path: string | undefined;
  readonly dnssec: DnssecState;
  readonly status: DnssecStatus | undefined;
}

function ForTheParent({ path, dnssec, status }: ForTheParentProps) {
  const servers = status?.parent.servers ?? [];
  const digest = (dnssec.digest ?? '').toLowerCase();
  const has = (ds: readonly string[] | null): string => {
    if (ds === null) return 'no answer';
    if (ds.length === 0) return 'no DS record';
    return ds.some((line) => line.toLowerCase().replaceAll(' ', '').includes(digest)) ? 'has it' : 'has another one';
  };
  return (
    <Panel title="DS record for the parent">
      <Copyable text={dnssec.ds!} label="DS record" />
      <Facts
        facts={[
          { name: 'Key tag', value: dnssec.key_tag },
          { name: 'Algorithm', value: `${dnssec.algorithm} (${dnssec.key_type})` },
          { name: 'Digest type', value: `${dnssec.digest_algorithm} (${dnssec.digest_type})` },
          { name: 'Digest', value: <code>{dnssec.digest}</code> },
          { name: 'Flags', value: dnssec.flags },
          { name: 'Public key', value: <code>{dnssec.public_key}</code> },
        ]}
      />
      {status?.parent.taken_by != null && (
        <p class="hint">
          The parent zone <span class="mono">{status.parent.taken_by}</span> is served here and takes this DS record by
          itself.
        </p>
      )}
      <h3>What the parent has</h3>
      {servers.length === 0 && (
        <p class="muted">
          {status?.parent.checked_on == null
            ? 'The servers of the parent were not asked yet.'
            : 'No server of the parent could be found; it is tried again.'}
        </p>
      )}
      <ul class="plain-list">
        {servers.map(({ server, ds }) => (
          <li key={server}>
            <span class="mono">{server}</span>
            <span class={`chip ${has(ds) === 'has it' ? 'good' : 'wait'}`}>{has(ds)}</span>
          </li>
        ))}
      </ul>
      {status?.parent.checked_on != null && (
        <p class="hint">
          Asked <Time at={status.parent.checked_on} />.
        </p>
      )}
      {path !== undefined && servers.length === 0 && status?.parent.taken_by == null && (
        <SaidByHand path={path} dnssec={dnssec} />
      )}
    </Panel>
  );
}

const ROLES = { ksk: 'Signs the keys (KSK)', zsk: 'Signs the records (ZSK)', csk: 'Signs everything (CSK)' } as const;
const STATES = {
  presigning: 'Signing in advance',
  published: 'Published, waiting',
  active: 'In use',
  retired: 'Being withdrawn',
  withdrawn: 'Withdrawn',
  external: 'Of another signer',
} as const;

interface KeysProps {
  readonly keys: readonly DnssecKey[];
  readonly onRoll: ((role: 'zsk' | 'ksk') => void) | undefined;
  readonly busy: boolean;
}

function Keys({ keys, onRoll, busy }: KeysProps) {
  const roles = new Set(keys.map(({ role }) => role));
  const buttons = onRoll && (
    <span class="actions">
      {(['zsk', 'ksk'] as const).map(
        (role) =>
          roles.has(role) && (
            <Confirm
              key={role}
              verb={`Replace the ${role.toUpperCase()}`}
              what="of this zone"
              busy={busy}
              onConfirm={() => onRoll(role)}
            />
          ),
      )}
    </span>
  );
  return (
    <Panel title="Keys" aside={buttons}>
      <ListTable
        label="List of keys"
        columns={['Key', 'State', 'Since', 'Next step']}
        items={keys}
        keyOf={({ id }) => id}
        row={(key) => (
          <tr>
            <th scope="row">
              {key.key_tag} <span class="muted">{ROLES[key.role]}</span>
            </th>
            <td>
              <span class={`chip ${key.state === 'active' ? 'good' : 'wait'}`}>{STATES[key.state]}</span>
            </td>
            <Cell class="muted" name="Since" value={<Time at={key.since} />} />
            <td class="muted">
              {key.waiting_for ?? '–'}
              {key.until !== null && (
                <>
                  , not before <Time at={key.until} exact />
                </>
              )}
            </td>
          </tr>
        )}
      />
    </Panel>
  );
}

type Denial = NonNullable<DnssecStatus['denial']>;

const DENIALS: Readonly<Record<Denial, string>> = {
  nsec: 'NSEC: names in order',
  nsec3: 'NSEC3: hashed names',
  compact: 'Compact denial: signed when asked for',
};

interface SignaturesProps {
  readonly status: DnssecStatus;
  /** Undefined for those who may not change it. */
  readonly onDeny: ((denial: Denial) => void) | undefined;
  readonly busy: boolean;
}

function Signatures({ status, onDeny, busy }: SignaturesProps) {
  const denial = status.denial ?? 'nsec';
  return (
    <Panel title="Signatures">
      <Facts
        facts={[
          { name: 'Names with signatures', value: status.signed_owners },
          { name: 'To be renewed now', value: status.due },
          {
            name: 'The first one ends',
            value: status.first_expiry === null ? '–' : <Time at={status.first_expiry} exact />,
          },
          {
            name: 'Absence is proven by',
            value: onDeny ? (
              <select
                aria-label="Absence is proven by"
                value={denial}
                disabled={busy}
                onChange={(event) => onDeny(event.currentTarget.value as Denial)}
              >
                {Object.entries(DENIALS).map(([kind, words]) => (
                  <option key={kind} value={kind}>
                    {words}
                  </option>
                ))}
              </select>
            ) : (
              DENIALS[denial]
            ),
          },
        ]}
      />
    </Panel>
  );
}
