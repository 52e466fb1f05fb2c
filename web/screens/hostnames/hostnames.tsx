/** Custom hostnames of a zone: which work, what is missing for the others, and who must do it. */
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { call, pathWith } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Facts, Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Search } from '../../parts/search.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { go, Link, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screens.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { CustomHostname } from '../../types.js';
import { nextStep, toneOf, wordsOf } from './words.js';

const PER_PAGE = 50;
const EXAMPLE = { hostname: 'shop.customer.example', ssl: { method: 'http', type: 'dv' } };
const REFRESH_MS = 10_000;

export default function Hostnames({ zone }: ZoneScreenProps) {
  const { query } = usePlace();
  const base = `/zones/${zone.id}/custom_hostnames`;
  const shown = query.get('show') ?? undefined;
  const path = pathWith(base, {
    'hostname.contain': query.get('search') ?? undefined,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
  });
  const { answer, error, busy, reload } = useLoad<CustomHostname[]>(path, { everyMs: REFRESH_MS });
  const writes = mayWrite(usePermissions(), 'certificates');
  const details = shown !== undefined && (
    <One key={shown} path={`${base}/${shown}`} writes={writes} onChange={reload} />
  );
  return (
    <>
      {writes && <NewHostname base={base} onMade={reload} />}
      <div class="tools">
        <Search name="search" label="Search hostnames" placeholder="Search hostnames" />
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <Loading what="custom hostnames" />}
      {isPastEnd(answer?.info) && <PastEnd />}
      {answer?.result.length === 0 && !isPastEnd(answer.info) && (
        <Empty title={query.get('search') ? 'No hostname is like that' : 'There are no custom hostnames yet'}>
          <p>A custom hostname is a name of a customer, in the customer’s own domain, that leads to your service.</p>
        </Empty>
      )}
      {answer && !answer.result.some(({ id }) => id === shown) && details}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Custom hostnames" class="stacked" busy={busy}>
          <Columns names={['Hostname', 'State', 'Certificate', 'What comes next']} />
          <tbody>
            {answer.result.map((hostname) => (
              <Fragment key={hostname.id}>
                <Row hostname={hostname} isShown={shown === hostname.id} />
                {shown === hostname.id && (
                  <tr class="shown-row">
                    <td colSpan={4}>{details}</td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </TableFrame>
      )}
      {answer?.info && <Paging info={answer.info} nouns={['hostname', 'hostnames']} />}
      <Curl
        request={{ method: 'GET', path }}
        {...(writes && { others: { 'Add one': { method: 'POST', path: base, body: EXAMPLE } } })}
      />
    </>
  );
}

/** A row of the list; its name opens and closes what there is to know. */
function Row({ hostname, isShown }: { readonly hostname: CustomHostname; readonly isShown: boolean }) {
  return (
    <tr>
      <th scope="row">
        <Link class="name" href={withQuery({ show: isShown ? undefined : hostname.id })} aria-expanded={isShown}>
          {hostname.hostname}
        </Link>
      </th>
      <td>
        <span class={`chip ${toneOf(hostname.status)}`}>{wordsOf(hostname.status)}</span>
      </td>
      <td data-name="Certificate">
        {hostname.ssl ? (
          <span class={`chip ${toneOf(hostname.ssl.status)}`}>{wordsOf(hostname.ssl.status)}</span>
        ) : (
          <span class="muted">none</span>
        )}
      </td>
      <td class="long">
        {nextStep(hostname)} <NextCheck hostname={hostname} />
      </td>
    </tr>
  );
}

function NewHostname({ base, onMade }: { readonly base: string; readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const [method, setMethod] = useState<'http' | 'txt'>('http');
  const sending = useSending();
  const body = { hostname: name.trim(), ssl: { method, type: 'dv' } };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const done = await sending.run(async () => {
      const { result } = await call<CustomHostname>('POST', base, { body });
      go(withQuery({ show: result.id }));
      onMade();
    });
    if (done) setName('');
  };
  return (
    <form class="line-form" onSubmit={(event) => void submit(event)}>
      <label class="field">
        <span>New hostname</span>
        <input
          required
          value={name}
          placeholder="shop.customer.example"
          autocapitalize="none"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Prove the certificate by</span>
        <select value={method} onChange={(event) => setMethod(event.currentTarget.value as 'http' | 'txt')}>
          <option value="http">HTTP: the name leads here</option>
          <option value="txt">TXT record</option>
        </select>
      </label>
      <button type="submit" class="primary" disabled={sending.busy}>
        {sending.busy ? 'Adding…' : 'Add'}
      </button>
      {sending.error && <ErrorNote error={sending.error} />}
    </form>
  );
}

interface OneProps {
  readonly path: string;
  readonly writes: boolean;
  readonly onChange: () => void;
}

function One({ path, writes, onChange }: OneProps) {
  const { answer, error, reload } = useLoad<CustomHostname>(path, { everyMs: REFRESH_MS });
  const sending = useSending();
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="the hostname" />;
  const hostname = answer.result;
  const check = (): void =>
    void sending.run(async () => {
      await call('PATCH', path, { body: {} });
      reload();
      onChange();
    });
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', path);
      go(withQuery({ show: undefined }));
      onChange();
    });
  return (
    <Panel
      title={hostname.hostname}
      aside={
        writes && (
          <span class="actions">
            <button type="button" disabled={sending.busy} onClick={check}>
              Check now
            </button>
            <Confirm what={hostname.hostname} busy={sending.busy} onConfirm={remove} />
          </span>
        )
      }
    >
      {sending.error && <ErrorNote error={sending.error} />}
      <p class="lead">
        {nextStep(hostname)} <NextCheck hostname={hostname} />
      </p>
      <Records hostname={hostname} />
      <Certificates hostname={hostname} />
      <Curl
        request={{ method: 'PATCH', path, body: {} }}
        {...(writes && { others: { 'Delete it': { method: 'DELETE', path } } })}
      />
    </Panel>
  );
}

/** When the server looks again by itself. */
function NextCheck({ hostname: { next_check_at: at } }: { readonly hostname: CustomHostname }) {
  if (at === undefined) return null;
  return (
    <span class="muted">
      Checked again <Time at={at} />.
    </span>
  );
}

/** What the customer may have to copy. */
function Records({ hostname }: { readonly hostname: CustomHostname }) {
  const { ownership_verification: txt, ownership_verification_http: http, ssl } = hostname;
  const challenges = (ssl?.validation_records ?? []).flatMap(({ txt_name: name, txt_value: value }) =>
    name && value ? [`${name}. TXT "${value}"`] : [],
  );
  const delegations = (ssl?.dcv_delegation_records ?? []).map(
    ({ cname, cname_target: to }) => `${cname}. CNAME ${to}.`,
  );
  return (
    <>
      {hostname.status !== 'active' && (
        <>
          <h3>To prove that the name belongs to the customer, one of these</h3>
          <p class="hint">A TXT record:</p>
          <Copyable text={`${txt.name}. TXT "${txt.value}"`} label="TXT record" />
          <p class="hint">Or this text at this address:</p>
          <Copyable text={`${http.http_url}\n${http.http_body}`} label="address and text" />
        </>
      )}
      {ssl && ssl.status !== 'active' && challenges.length > 0 && (
        <>
          <h3>For the certificate</h3>
          <Copyable text={challenges.join('\n')} label="records" />
        </>
      )}
      {delegations.length > 0 && (
        <>
          <h3>To leave later certificates to this server</h3>
          <Copyable text={delegations.join('\n')} label="record" />
        </>
      )}
    </>
  );
}

function Certificates({ hostname }: { readonly hostname: CustomHostname }) {
  const list = hostname.ssl?.certificates ?? [];
  if (list.length === 0) return null;
  return (
    <>
      <h3>{list.length === 1 ? 'Certificate' : 'Certificates'}</h3>
      {list.map((certificate) => (
        <Facts
          key={certificate.id}
          facts={[
            { name: 'Issued by', value: certificate.issuer },
            { name: 'Names', value: (hostname.ssl?.hosts ?? []).join(', ') },
            { name: 'Valid since', value: <Time at={certificate.issued_on} exact /> },
            { name: 'Ends', value: <Time at={certificate.expires_on} exact /> },
            { name: 'Signature', value: certificate.signature },
            { name: 'Serial number', value: <code>{certificate.serial_number}</code> },
            { name: 'SHA-256', value: <code>{certificate.fingerprint_sha256}</code> },
          ]}
        />
      ))}
    </>
  );
}
