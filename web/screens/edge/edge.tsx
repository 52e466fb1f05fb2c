/** What the edge does for the proxied names of a zone: its settings, its cache, and what is missing before it does anything. */
import { pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { Curl, type Request } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Link } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { DnsRecord, Zone, ZoneSetting } from '../../types.js';
import { type About, GROUPS, type Group, type SettingValues } from './catalog.js';
import { Purge } from './purge.js';
import { Setting } from './setting.js';

const REFRESH_MS = 10_000;

const settingsPath = ({ id }: Zone): string => `/zones/${id}/settings`;
const proxiedPath = ({ id }: Zone): string => pathWith(`/zones/${id}/dns_records`, { proxied: 'true', per_page: 1 });

export default function Edge({ zone, base: screens }: ZoneScreenProps) {
  const permissions = usePermissions();
  const readsSettings = mayRead(permissions, 'zoneSettings');
  const path = settingsPath(zone);
  const { answer, error, reload } = useLoad<ZoneSetting[]>(readsSettings ? path : undefined, { everyMs: REFRESH_MS });
  const writes = mayWrite(permissions, 'zoneSettings');
  const purges = mayWrite(permissions, 'cachePurge');
  return (
    <>
      <Missing zone={zone} screens={screens} />
      {error && <ErrorNote error={error} onRetry={reload} />}
      {readsSettings && !answer && !error && <Loading what="the settings" />}
      {answer &&
        GROUPS.map((group) => (
          <SettingGroup
            key={group.title}
            group={group}
            items={answer.result}
            path={path}
            writes={writes}
            onSaved={reload}
          />
        ))}
      {purges && <Purge zone={zone} />}
    </>
  );
}

/** Why the edge does nothing for the zone yet: one sentence that says what to do. */
function Missing({ zone, screens }: { readonly zone: Zone; readonly screens: string }) {
  const permissions = usePermissions();
  const proxied = useLoad<DnsRecord[]>(mayRead(permissions, 'dns') ? proxiedPath(zone) : undefined, {
    everyMs: REFRESH_MS,
  });
  const hasNone = proxied.answer?.info?.total_count === 0;
  if (zone.status === 'active' && !zone.paused && !hasNone) return null;
  return (
    <section class="statement" aria-label="What is missing">
      <div>
        <h2>The edge does nothing for this zone at present</h2>
        {zone.paused ? (
          <p>
            Proxying is paused, so visitors go to your servers themselves.{' '}
            <Link href={`${screens}/settings`}>Proxy again</Link>
          </p>
        ) : zone.status !== 'active' ? (
          <p>The zone is not active yet: its delegation does not lead here. What you set now counts from then on.</p>
        ) : (
          <p>
            No record is proxied. Choose “Proxied through the edge” for the addresses of your web servers:{' '}
            <Link href={`${screens}/records`}>edit the records</Link>. What you set now counts from then on.
          </p>
        )}
      </div>
    </section>
  );
}

interface GroupProps {
  readonly group: Group;
  readonly items: readonly ZoneSetting[];
  readonly path: string;
  readonly writes: boolean;
  readonly onSaved: () => void;
}

function SettingGroup({ group: { title, settings }, items, path, writes, onSaved }: GroupProps) {
  const values: SettingValues = Object.fromEntries(items.map(({ id, value }) => [id, value]));
  const shown = settings.flatMap((about) => {
    const item = items.find(({ id }) => id === about.id);
    return item ? [{ about, item }] : [];
  });
  return (
    <Panel title={title}>
      {shown.map(({ about, item }) => (
        <Setting
          key={item.id}
          about={about}
          item={item}
          base={path}
          note={about.note?.(values)}
          writes={writes}
          onSaved={onSaved}
        />
      ))}
      <Curl
        request={{ method: 'GET', path }}
        {...(writes && {
          others: Object.fromEntries(shown.map(({ about, item }) => [about.name, changeOf(about, item, path)])),
        })}
      />
    </Panel>
  );
}

/** The request of its control; of those with more than two values, the one that sends the present value. */
function changeOf({ control }: About, { id, value }: ZoneSetting, path: string): Request {
  const next = control.kind === 'switch' ? (value === 'off' ? 'on' : 'off') : value;
  return { method: 'PATCH', path: `${path}/${id}`, body: { value: next } };
}
