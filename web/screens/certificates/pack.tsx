/** One certificate of a zone: what it waits for, what proves its names, and what was issued. */

import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { challengeFilesOf, challengesOf, Delegations, IssuedFacts, NOT_TRUSTED } from '../../parts/certificate.js';
import { Confirm } from '../../parts/confirm.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { shownName } from '../../parts/zone.js';
import { go, useIsHere, withQuery } from '../../router.js';
import type { Pack, Zone } from '../../types.js';

type PackError = NonNullable<Pack['validation_errors']>[number];

/** Who must act, as the API says it; the customer of a zone's certificate is who runs the zone. */
const ACTORS: Readonly<Record<PackError['actor'], string>> = {
  customer: 'You must act:',
  provider: 'Who runs this server must act:',
  ca: 'The authority says:',
};

const NEXT: Readonly<Partial<Record<Pack['status'], string>>> = {
  initializing: 'Nothing has to be done: it is being ordered.',
  pending_validation: 'Nothing has to be done where this server answers for the names: it publishes the proof itself.',
  pending_issuance: 'Nothing has to be done: the authority is issuing it.',
  pending_deployment: 'Nothing has to be done: the edge is taking it over.',
  active: 'Nothing has to be done: it is renewed without you.',
  pending_expiration: 'It ends soon, and the next one is not there yet.',
  pending_deletion: 'Nothing has to be done: it is being revoked and removed.',
  expired: 'It has ended. Begin again.',
  caa_error: 'The CAA records of the names forbid this authority. Change them, or order from another one.',
};

/** The API also has messages that are only a code and a name, as clients know them. */
const CODE = /^[a-z_]+: \S+$/;

/** What comes next, and who must do it. */
export function nextOf({ status, validation_errors: errors = [], certificates: [newest] }: Pack): string {
  const isGivenUp = status.endsWith('timed_out');
  if (status === 'active' && newest?.issued_by === 'built_in') return NOT_TRUSTED;
  const usual = NEXT[status] ?? (isGivenUp ? 'It was given up. Begin again when the cause is mended.' : '');
  const told = errors.filter(({ message }) => !CODE.test(message));
  const said = told.map(({ message, actor }, i) =>
    told[i - 1]?.actor === actor ? message : `${ACTORS[actor]} ${message}`,
  );
  return said.length > 0 ? [...said, ...(isGivenUp ? [usual] : [])].join(' ') : usual;
}

interface OnePackProps {
  readonly zone: Zone;
  /** Path of the certificate packs. */
  readonly base: string;
  readonly pack: Pack;
  readonly writes: boolean;
  readonly onChange: () => void;
}

export function OnePack({ zone, base, pack, writes, onChange }: OnePackProps) {
  const sending = useSending();
  const isHere = useIsHere();
  const path = `${base}/${pack.id}`;
  const methodPath = `/zones/${zone.id}/ssl/verification/${pack.id}`;
  const names = pack.hosts.map((name) => shownName({ name })).join(', ');
  const send = (method: 'PATCH' | 'DELETE', to: string, body?: object): void =>
    void sending.run(async () => {
      await call(method, to, body && { body });
      if (method === 'DELETE' && isHere()) go(withQuery({ show: undefined }));
      onChange();
    });
  const isOrdered = pack.type === 'advanced';
  const changes = writes && pack.status !== 'pending_deletion';
  return (
    <Panel
      title={names}
      aside={
        changes && (
          <span class="actions">
            {pack.status !== 'active' && (
              <Button disabled={sending.busy} onClick={() => send('PATCH', path, {})} text="Begin again" />
            )}
            {isOrdered && <Confirm what={names} busy={sending.busy} onConfirm={() => send('DELETE', path)} />}
          </span>
        )
      }
    >
      {sending.error && <ErrorNote error={sending.error} />}
      <p class="lead">{nextOf(pack)}</p>
      {changes && isOrdered && (
        <ChoiceField
          label="Its names are proven by"
          narrow
          value={pack.validation_method}
          disabled={sending.busy}
          onChange={(value) => send('PATCH', methodPath, { validation_method: value })}
        >
          <option value="txt">TXT record</option>
          <option value="http">HTTP: the names lead here</option>
        </ChoiceField>
      )}
      <Proofs pack={pack} />
      {pack.certificates.length > 0 && <h3>{pack.certificates.length === 1 ? 'Certificate' : 'Certificates'}</h3>}
      {pack.certificates.map((issued) => (
        <IssuedFacts key={issued.id} issued={issued} names={issued.hosts} since={issued.uploaded_on} />
      ))}
      <Curl
        request={{ method: 'GET', path }}
        {...(changes && {
          others: {
            'Begin again': { method: 'PATCH', path, body: {} },
            'Prove the names in another way': { method: 'PATCH', path: methodPath, body: { validation_method: 'txt' } },
            ...(isOrdered && { 'Delete it': { method: 'DELETE', path } }),
          },
        })}
      />
    </Panel>
  );
}

/** What proves the names where another server answers for them. */
function Proofs({ pack }: { readonly pack: Pack }) {
  const challenges = challengesOf(pack);
  const files = challengeFilesOf(pack);
  const isWaiting = pack.status !== 'active';
  return (
    <>
      {isWaiting && challenges.length > 0 && (
        <>
          <h3>Where other servers answer for the names: add these records there</h3>
          <Copyable text={challenges.join('\n')} label="records" />
        </>
      )}
      {isWaiting && files.length > 0 && (
        <>
          <h3>Where the names lead elsewhere: this text at this address</h3>
          <Copyable text={files.join('\n')} label="address and text" />
        </>
      )}
      {isWaiting && challenges.length > 0 && <Delegations {...pack} />}
    </>
  );
}
