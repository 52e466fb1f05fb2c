/** Custom hostnames of a zone: which work, what is missing for the others, and who must do it. */

import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { TextField } from '../../kit/form.js';
import { ListState } from '../../kit/list.js';
import { type Loaded, useLoad, useSending } from '../../load.js';
import { CertificateChip, toneOf } from '../../parts/certificate.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading, WORKING } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Search } from '../../parts/search.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { oneWord } from '../../parts/typed.js';
import { asciiName, shownName } from '../../parts/zone.js';
import { go, Link, useIsHere, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { CustomHostname, FallbackOrigin as Fallback } from '../../types.js';
import { Certificates, Records } from './details.js';
import { Edit } from './edit.js';
import { FallbackOrigin, fallbackPath } from './fallback.js';
import { changeOf, MethodField, NO_OPTIONS, OptionFields } from './options.js';
import { OwnCertificate } from './own-certificate.js';
import { hostnameInWords } from './words.js';

const PER_PAGE = 50;
const EXAMPLE = { hostname: 'shop.customer.example', ssl: { method: 'http', type: 'dv' } };
const REFRESH_MS = 10_000;
const NOT_FOUND = 404;

export default function Hostnames({ zone, base: screens }: ZoneScreenProps) {
  const { query } = usePlace();
  const base = `/zones/${zone.id}/custom_hostnames`;
  const shown = query.get('show') ?? undefined;
  const path = pathWith(base, {
    'hostname.contain': query.get('search') ?? undefined,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
  });
  const { answer, error, busy, reload } = useLoad<CustomHostname[]>(path, { everyMs: REFRESH_MS });
  const fallback = useLoad<Fallback>(fallbackPath(base), { everyMs: REFRESH_MS });
  const writes = mayWrite(usePermissions(), 'certificates');
  const onePath = `${base}/${shown}`;
  // Read here and not in `One`, because the details of a new one move into the list when the list is reloaded.
  const one = useLoad<CustomHostname>(shown === undefined ? undefined : onePath, { everyMs: REFRESH_MS });
  const details = shown !== undefined && (
    <One
      key={shown}
      path={onePath}
      loaded={one.answer && one.answer.result.id !== shown ? { ...one, answer: undefined } : one}
      origin={fallback.error ? undefined : fallback.answer?.result.origin}
      writes={writes}
      onChange={reload}
    />
  );
  const isSearched = query.get('search') !== null;
  return (
    <>
      <FallbackOrigin
        zone={zone}
        base={base}
        screens={screens}
        loaded={fallback}
        writes={writes}
        onChange={() => {
          fallback.reload();
          reload();
        }}
      />
      {writes && <NewHostname base={base} onMade={reload} />}
      <div class="tools">
        <Search name="search" label="Search hostnames" placeholder="Search hostnames" />
      </div>
      <ListState loaded={{ answer, error, reload }} what="custom hostnames" />
      {isPastEnd(answer?.info) && <PastEnd />}
      {answer?.result.length === 0 && !isPastEnd(answer.info) && (
        <Empty title={isSearched ? 'No hostname matches' : 'There are no custom hostnames yet'}>
          {isSearched ? (
            <p>
              <Link href={withQuery({ search: undefined })}>Show all hostnames</Link>
            </p>
          ) : (
            <p>
              A custom hostname is a name of a customer, in the customer’s own domain, that leads to your service. Add
              one above: then it says what your customer must do.
            </p>
          )}
        </Empty>
      )}
      {answer && !answer.result.some(({ id }) => id === shown) && details}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Custom hostnames" class="stacked told" busy={busy}>
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
          {shownName({ name: hostname.hostname })}
        </Link>
      </th>
      <td>
        <span class={`chip ${toneOf(hostname.status)}`}>{hostnameInWords(hostname.status)}</span>
      </td>
      <td data-name="Certificate">
        {hostname.ssl ? (
          <CertificateChip status={hostname.ssl.status} issuedBy={hostname.ssl.issued_by} />
        ) : (
          <span class="muted">none</span>
        )}
      </td>
      <td class="long">
        {hostname.next_step} <NextCheck hostname={hostname} />
      </td>
    </tr>
  );
}

function NewHostname({ base, onMade }: { readonly base: string; readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const [options, setOptions] = useState(NO_OPTIONS);
  const sending = useSending();
  const isHere = useIsHere();
  const ssl = { method: options.method, type: 'dv' };
  const body = { hostname: asciiName({ name: oneWord(name) }), ssl, ...changeOf(NO_OPTIONS, options) };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const done = await sending.run(async () => {
      const { result } = await call<CustomHostname>('POST', base, { body });
      if (isHere()) go(withQuery({ show: result.id }));
      onMade();
    });
    if (!done) return;
    setName('');
    setOptions(NO_OPTIONS);
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div class="line-form">
        <TextField
          label="New hostname"
          required
          value={name}
          placeholder="shop.customer.example"
          autocapitalize="none"
          onChange={setName}
        />
        <MethodField options={options} onChange={setOptions} />
        <button type="submit" class="primary" disabled={sending.busy}>
          {sending.busy ? 'Adding…' : 'Add'}
        </button>
        {sending.error && <ErrorNote error={sending.error} />}
      </div>
      <details class="more">
        <summary>More settings</summary>
        <OptionFields options={options} hasCertificate isTlsChosen={false} onChange={setOptions} />
      </details>
    </form>
  );
}

interface OneProps {
  readonly path: string;
  readonly loaded: Loaded<CustomHostname>;
  /** The fallback origin of the zone, if there is one. */
  readonly origin: string | undefined;
  readonly writes: boolean;
  readonly onChange: () => void;
}

function One({ path, loaded: { answer, busy, reload, ...loaded }, origin, writes, onChange }: OneProps) {
  const sending = useSending();
  const [checked, setChecked] = useState(false);
  const isHere = useIsHere();
  const place = useRef<HTMLDivElement>(null);
  const isLoaded = answer !== undefined;
  // A new one may stand far below the form that made it.
  useEffect(() => {
    if (isLoaded) place.current?.scrollIntoView({ block: 'nearest' });
  }, [isLoaded]);
  // While loading, the error may belong to the one shown before.
  const error = answer || !busy ? loaded.error : undefined;
  // What somebody types stays while the server is away.
  if (error && (!answer || error.status === NOT_FOUND)) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="the hostname" />;
  const hostname = answer.result;
  const { ssl } = hostname;
  // Naming what is wanted already also begins a certificate again that was given up.
  const again = ssl ? { ssl: { method: ssl.method, type: ssl.type } } : {};
  const changed = (): void => {
    reload();
    onChange();
  };
  const check = (): void =>
    void sending.run(async () => {
      setChecked(false);
      await call('PATCH', path, { body: again });
      setChecked(true);
      reload();
      onChange();
    });
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', path);
      if (isHere()) go(withQuery({ show: undefined }));
      onChange();
    });
  return (
    <div class="opened" ref={place}>
      <Panel
        title={shownName({ name: hostname.hostname })}
        aside={
          writes && (
            <span class="actions">
              <Button disabled={sending.busy} onClick={check} text={sending.busy ? WORKING : 'Check now'} />
              <Confirm what={hostname.hostname} busy={sending.busy} onConfirm={remove} />
            </span>
          )
        }
      >
        {error && <ErrorNote error={error} onRetry={reload} />}
        {sending.error && <ErrorNote error={sending.error} />}
        {checked && (
          <p class="hint" role="status">
            It was checked just now. This is what was found:
          </p>
        )}
        <p class="lead">
          {hostname.next_step} <NextCheck hostname={hostname} />
        </p>
        <Records hostname={hostname} origin={origin} />
        <Certificates hostname={hostname} />
        {writes && <Edit path={path} hostname={hostname} onDone={changed} />}
        {writes && ssl && <OwnCertificate path={path} ssl={ssl} onDone={changed} />}
        <Curl
          request={{ method: 'PATCH', path, body: again }}
          {...(writes && { others: { 'Delete it': { method: 'DELETE', path } } })}
        />
      </Panel>
    </div>
  );
}

/** When the server looks again by itself, or gives the hostname up for good. */
function NextCheck({ hostname: { next_check_at: at, status } }: { readonly hostname: CustomHostname }) {
  // One that is active is looked at now and then; nobody waits for that.
  if (at === undefined || status.startsWith('active')) return null;
  const what = status === 'moved' ? 'Otherwise it is deleted' : 'Checked again';
  const isDue = Date.parse(at) <= Date.now();
  return (
    <span class="muted">
      {what} {isDue ? 'in a moment' : <Time at={at} />}.
    </span>
  );
}
