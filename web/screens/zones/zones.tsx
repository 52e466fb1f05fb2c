/** The list of zones: searched, sorted and divided into pages by the server, so that a hundred thousand feel like ten. */

import { useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { readAhead, useLoad } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { compareTexts, inNaturalOrder } from '../../parts/natural.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Search } from '../../parts/search.js';
import { SortHeader, sortOf } from '../../parts/sort.js';
import { Cell, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Status, servedName, shownName } from '../../parts/zone.js';
import { go, Link, usePlace, withQuery } from '../../router.js';
import { usePermissions } from '../../session.js';
import type { ResultInfo, Zone } from '../../types.js';
import { DropPlace } from './drop-place.js';
import { FoundRecords } from './found-records.js';
import { NewZone } from './new-zone.js';

const PER_PAGE = 50;
const STATE_COLUMNS = ['Records', 'Serial', 'DNSSEC', 'Secondaries'] as const;
/** Those with numbers. */
const NUMBER_COLUMNS: readonly string[] = ['Records', 'Serial'];
const ORDERS = ['name', 'status', 'account.name'] as const;

/** A page of the list, as the address wants it. */
function listPath(query: URLSearchParams): string {
  const search = query.get('search') ?? '';
  const sort = sortOf(query, ORDERS, 'name');
  return pathWith('/zones', {
    name: search && `contains:${search}`,
    order: sort.order,
    direction: sort.direction,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
    include_state: 'true',
  });
}

export function readFirst(): void {
  readAhead(listPath(new URLSearchParams(location.search)));
}

export default function Zones() {
  const { query } = usePlace();
  const search = query.get('search') ?? '';
  const path = listPath(query);
  const { answer, error, busy, reload } = useLoad<Zone[]>(path);
  const [making, setMaking] = useState<{ readonly file: File | undefined } | undefined>(
    query.has('new') ? { file: undefined } : undefined,
  );
  const close = (): void => {
    setMaking(undefined);
    if (query.has('new')) go(withQuery({ new: undefined }), { replace: true });
  };
  const permissions = usePermissions();
  const creatable = permissions.creates_zones;
  return (
    <>
      <div class="head">
        <h1>Zones</h1>
        {creatable && <Button class="primary" onClick={() => setMaking({ file: undefined })} text="New zone" />}
      </div>
      {creatable && <DropPlace onFile={(file) => setMaking({ file })} />}
      {making && <NewZone key={making.file?.name} file={making.file} onClose={close} />}
      <div class="tools">
        <Search name="search" label="Search zones" placeholder="Search zones by name" />
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {answer ? (
        <Table
          zones={inNaturalOrder(answer.result, answer.info, sortOf(query, ORDERS, 'name'), compareTexts)}
          info={answer.info}
          search={search}
          busy={busy}
          onNew={creatable ? () => setMaking({ file: undefined }) : undefined}
        />
      ) : (
        !error && <Loading what="zones" />
      )}
      {answer?.info && <Paging info={answer.info} nouns={['zone', 'zones']} />}
      <FoundRecords search={search} />
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

interface TableProps {
  readonly zones: readonly Zone[];
  readonly info: ResultInfo | undefined;
  readonly search: string;
  readonly busy: boolean;
  /** Undefined for who may not create zones. */
  readonly onNew: (() => void) | undefined;
}

function Table({ zones, info, search, busy, onNew }: TableProps) {
  if (isPastEnd(info)) return <PastEnd />;
  if (zones.length === 0) return <NoZones search={search} onNew={onNew} />;
  const isShared = new Set(zones.map(({ account }) => account.id)).size > 1;
  return (
    <TableFrame label="Zones" class="stacked" busy={busy}>
      <thead>
        <tr>
          <SortHeader orders={ORDERS} order="name" usual="name">
            Name
          </SortHeader>
          <SortHeader orders={ORDERS} order="status" usual="name">
            Status
          </SortHeader>
          {STATE_COLUMNS.map((name) => (
            <th key={name} scope="col" class={NUMBER_COLUMNS.includes(name) ? 'number' : ''}>
              {name}
            </th>
          ))}
          {isShared && (
            <SortHeader orders={ORDERS} order="account.name" usual="name">
              Account
            </SortHeader>
          )}
          <th scope="col">Changed</th>
        </tr>
      </thead>
      <tbody>
        {zones.map((zone) => (
          <tr key={zone.id}>
            <th scope="row">
              <Link class="name" href={zoneAddress(zone)} title={servedName(zone)}>
                {shownName(zone)}
              </Link>
            </th>
            <td>
              <Status zone={zone} />{' '}
              {zone.state?.hold && (
                <span class="chip" title="Other accounts cannot add this name">
                  Held
                </span>
              )}
            </td>
            <StateCells zone={zone} />
            {isShared && <Cell class="muted" name="Account" value={zone.account.name} />}
            <Cell class="muted" name="Changed" value={<Time at={zone.modified_on} />} />
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

function NoZones({ search, onNew }: Pick<TableProps, 'search' | 'onNew'>) {
  if (search !== '') {
    return (
      <Empty title="No zone has such a name">
        <p>
          Nothing contains <strong dir="auto">{search}</strong>. <Link href="/zones">Show all zones</Link>
        </p>
      </Empty>
    );
  }
  if (!onNew) {
    return (
      <Empty title="You have no zones">
        <p>
          There are no zones, or your credential cannot see them. Whoever made the credential can give it more rights.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="There are no zones yet">
      <p>
        A zone is a domain whose records this server answers. Create one by its name, or drop a zone file (BIND, or an
        export of another service) on this page.
      </p>
      <Button onClick={onNew} text="Create the first zone" />
    </Empty>
  );
}

const SIGNED: Readonly<Record<NonNullable<Zone['state']>['dnssec'], string>> = {
  active: 'Signed',
  pending: 'Waits for the DS',
  'pending-disabled': 'Is being removed',
  disabled: '–',
};

function StateCells({ zone: { state } }: { readonly zone: Zone }) {
  if (!state) {
    // Who may read some of the records only is told nothing about the whole.
    return STATE_COLUMNS.map((name) => (
      <td key={name} class={`muted${NUMBER_COLUMNS.includes(name) ? ' number' : ''}`} data-name={name}>
        –
      </td>
    ));
  }
  const { dnssec, secondaries, serial, records } = state;
  const isBehind = secondaries.in_sync < secondaries.count;
  return (
    <>
      <Cell class="muted number" name="Records" value={count(records)} />
      <Cell class="muted number" name="Serial" value={serial} />
      <td data-name="DNSSEC">
        {dnssec === 'disabled' ? (
          <span class="muted">–</span>
        ) : (
          <span class={`chip ${dnssec === 'active' ? 'good' : 'wait'}`}>{SIGNED[dnssec]}</span>
        )}
      </td>
      <td data-name="Secondaries">
        {secondaries.count === 0 ? (
          <span class="muted">–</span>
        ) : (
          <span class={`chip ${isBehind ? 'wait' : 'good'}`}>
            {secondaries.in_sync} of {secondaries.count} in step
          </span>
        )}
      </td>
    </>
  );
}

/** The address of a zone: its name where that can mean no other zone. */
export function zoneAddress({ id, name, status }: Zone): string {
  return `/zones/${status === 'active' ? encodeURIComponent(name) : id}`;
}
