/** What a zone is as a whole: its identifier and name servers, its SOA, pausing, holding its name, and deleting it. */

import { useState } from 'preact/hooks';
import { BASE, call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { Switch, TextField } from '../../kit/form.js';
import { readAgain, readAhead, useLoad, useSending } from '../../load.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Facts, Panel } from '../../parts/facts.js';
import { ErrorNote, WORKING } from '../../parts/notes.js';
import { Time } from '../../parts/time.js';
import { asciiName, shownName } from '../../parts/zone.js';
import { go, useIsHere } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { Zone, ZoneHold } from '../../types.js';
import { Answers } from './dns-settings.js';

const holdPath = ({ id }: Zone): string => `/zones/${id}/hold`;

export function readFirst({ zone }: ZoneScreenProps): void {
  readAhead(holdPath(zone));
}

export default function Settings({ zone }: ZoneScreenProps) {
  const permissions = usePermissions();
  const writes = mayWrite(permissions, 'zone');
  return (
    <>
      <Panel title="This zone">
        <Facts
          facts={[
            { name: 'Name servers', value: zone.name_servers.join(', ') || 'those of its NS records' },
            {
              name: 'Kind',
              value:
                zone.type === 'secondary'
                  ? 'Secondary: its records come from another server'
                  : 'Primary: its records are edited here',
            },
            { name: 'Account', value: zone.account.name },
            { name: 'Whose name it is', value: zone.meta.proof_detail },
            { name: 'Created', value: <Time at={zone.created_on} /> },
          ]}
        />
        <h3>Identifier</h3>
        <Copyable text={zone.id} label="identifier" />
        {mayRead(permissions, 'dns') && permissions.records === null && (
          <>
            <h3>Zone file</h3>
            <p class="muted">All records as a zone file, which this server and others import.</p>
            <a class="button" href={`${BASE}/zones/${zone.id}/dns_records/export`} download={`${asciiName(zone)}.zone`}>
              Download the zone file
            </a>
          </>
        )}
      </Panel>
      {mayRead(permissions, 'dns') && permissions.records === null && (
        <Answers zone={zone} writes={mayWrite(permissions, 'dns')} />
      )}
      <Pause zone={zone} writes={writes} />
      <Hold zone={zone} writes={writes} />
      {writes && <Deletion zone={zone} />}
    </>
  );
}

interface PartProps {
  readonly zone: Zone;
  readonly writes: boolean;
}

function Pause({ zone, writes }: PartProps) {
  const sending = useSending();
  const path = `/zones/${zone.id}`;
  const body = { paused: !zone.paused };
  const change = (): void =>
    void sending.run(async () => {
      await call('PATCH', path, { body });
      readAgain();
    });
  const state = zone.paused ? <span class="chip wait">Paused</span> : <span class="chip good">Not paused</span>;
  return (
    <Panel title="Proxying" aside={state}>
      <p class="muted">
        {zone.paused
          ? 'Proxied names answer the addresses of your own servers, as if no record were proxied. All other records are served as always.'
          : 'Proxied names lead to the edge of this server. While the zone is paused, they answer the addresses of your own servers instead.'}
      </p>
      {writes && (
        <Button
          disabled={sending.busy}
          onClick={change}
          text={sending.busy ? WORKING : zone.paused ? 'Proxy again' : 'Pause proxying'}
        />
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && <Curl request={{ method: 'PATCH', path, body }} />}
    </Panel>
  );
}

function Hold({ zone, writes }: PartProps) {
  const path = holdPath(zone);
  const { answer, error, reload } = useLoad<ZoneHold>(path);
  const sending = useSending();
  if (!answer) return error ? <ErrorNote error={error} onRetry={reload} /> : null;
  const { hold, hold_after: after, include_subdomains: below } = answer.result;
  const send = (method: 'POST' | 'DELETE' | 'PATCH', body?: object): void =>
    void sending.run(async () => {
      await call(method, path, body && { body });
      readAgain();
    });
  const state = hold ? <span class="chip good">Held</span> : <span class="chip">Not held</span>;
  return (
    <Panel title="Hold" aside={state}>
      <p class="muted">
        {hold
          ? `No other account can add ${shownName(zone)}${below ? ', or zones and custom hostnames below it' : ''}.`
          : `Other accounts may add ${shownName(zone)}, too. The delegation of the domain decides whose zone is served.`}
      </p>
      {!hold && after !== null && (
        <p>
          It is held again from <Time at={after} exact /> on.
        </p>
      )}
      {writes && (
        <Button
          disabled={sending.busy}
          onClick={() => send(hold ? 'DELETE' : 'POST')}
          text={sending.busy ? WORKING : hold ? 'End the hold' : 'Hold this name'}
        />
      )}
      {writes && hold && (
        <Switch
          label="Also names below it"
          checked={below}
          disabled={sending.busy}
          onChange={() => send('PATCH', { include_subdomains: !below })}
        />
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && <Curl request={{ method: hold ? 'DELETE' : 'POST', path }} />}
    </Panel>
  );
}

function Deletion({ zone }: { readonly zone: Zone }) {
  const [typed, setTyped] = useState('');
  const sending = useSending();
  const isHere = useIsHere();
  const path = `/zones/${zone.id}`;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void sending.run(async () => {
      await call('DELETE', path);
      if (isHere()) go('/zones');
    });
  };
  return (
    <Panel title="Delete this zone">
      <p class="muted">
        Its records, keys, custom hostnames and history are deleted, and this server answers nothing for it any more.
        That cannot be undone; a zone file that you downloaded before can be imported again.
      </p>
      <form class="line-form" onSubmit={submit}>
        <TextField
          label={<>Type {shownName(zone)} to delete it</>}
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onChange={setTyped}
        />
        <button type="submit" class="danger" disabled={sending.busy || typed.trim() !== shownName(zone)}>
          {sending.busy ? 'Deleting…' : 'Delete the zone'}
        </button>
        {sending.error && <ErrorNote error={sending.error} />}
      </form>
      <Curl request={{ method: 'DELETE', path }} />
    </Panel>
  );
}
