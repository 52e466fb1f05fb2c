/** What stands around every screen of a zone: its name and state, and the tabs. */
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from './api.js';
import { isReadAhead, readAhead, useLoad } from './load.js';
import { fetchFile, fetchScreen, LoadedScreen } from './loaded-screen.js';
import { AwaitedDelegation } from './parts/awaited-delegation.js';
import { Empty, ErrorNote, Loading } from './parts/notes.js';
import { Tabs } from './parts/tabs.js';
import { Status, servedName, shownName } from './parts/zone.js';
import { go, Link } from './router.js';
import type { ScreenProps } from './screen.js';
import { notSaved, REVIEW, usePending } from './screens/records/pending.js';
import { ZONE_SCREENS } from './screens.js';
import { mayRead, mayWrite, PermissionContext, usePermissions } from './session.js';
import type { Permissions, Zone } from './types.js';

/** The zone of an address, by its identifier or its name. */
const zonePath = (named: string): string =>
  /^[0-9a-f]{32}$/.test(named) ? `/zones/${named}` : `/zones?name=${encodeURIComponent(named)}`;
/** While a zone waits for its primaries. */
const REFRESH_MS = 5000;

const permissionsPath = ({ id }: Zone): string => `/user/permissions?zone_id=${id}`;
const zoneBase = (named: string): string => `/zones/${encodeURIComponent(named)}`;

function chosen({ result }: Answer<Zone | Zone[]>): Zone | undefined {
  const found = [result].flat();
  return found.find(({ status }) => status === 'active') ?? found[0];
}

const screenAt = (rest: string) => ZONE_SCREENS.find(({ path }) => path === (rest || ZONE_SCREENS[0]!.path));

export function readFirst({ params }: ScreenProps): void {
  const named = params['zone']!;
  const zone = readAhead<Zone | Zone[]>(zonePath(named));
  // Its file does not have to wait for the zone. Whoever shows it says what failed.
  const screen = screenAt(params['rest'] ?? '');
  if (screen) fetchFile(screen).catch(() => {});
  zone.then(
    (answer) => {
      const zone = chosen(answer);
      if (zone) fetchZoneScreen(zone, zoneBase(named), params['rest'] ?? '');
    },
    // Who shows the zone says so.
    () => {},
  );
}

/** Begins to fetch what a zone's screen needs, all at once. */
function fetchZoneScreen(zone: Zone, base: string, rest: string): void {
  readAhead(permissionsPath(zone));
  const screen = screenAt(rest);
  if (screen) fetchScreen(screen, { zone, base, params: {} });
}

export default function ZoneFrame({ params }: ScreenProps) {
  const named = params['zone']!;
  const rest = params['rest'] ?? '';
  const [waits, setWaits] = useState(false);
  const { answer, error, reload } = useLoad<Zone | Zone[]>(zonePath(named), waits ? { everyMs: REFRESH_MS } : {});
  const zone = answer && chosen(answer);
  const copy = zone?.meta.transfer_state ?? 'current';
  // What is said of its copy changes without anybody's doing.
  useEffect(() => setWaits(copy !== 'current'), [copy]);
  // A screen with what somebody typed stays while the server is away.
  if (error && (!answer || error.status !== 0)) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what={`the zone ${named}`} />;
  if (!zone) {
    return (
      <Empty title={`There is no zone ${named}`} isAlone>
        <p>
          It may belong to another account, or have another name. <Link href="/zones">Show all zones</Link>
        </p>
      </Empty>
    );
  }
  return <OneZone zone={zone} rest={rest} base={zoneBase(named)} />;
}

function OneZone({ zone, rest, base }: { readonly zone: Zone; readonly rest: string; readonly base: string }) {
  const everywhere = usePermissions();
  // Not again when the page began with this zone.
  useState(() => isReadAhead(permissionsPath(zone)) || fetchZoneScreen(zone, base, rest));
  const { answer } = useLoad<Permissions>(permissionsPath(zone));
  const permissions = answer?.result ?? everywhere;
  const usable = ZONE_SCREENS.filter(
    ({ needs, narrowable }) =>
      (!needs || mayRead(permissions, ...needs)) && (narrowable || permissions.records === null),
  );
  const tabs = usable.filter(({ listed }) => listed);
  const screen = usable.find(({ path }) => path === rest);
  useEffect(() => {
    if (rest === '' && tabs[0]) go(`${base}/${tabs[0].path}`, { replace: true });
  }, [rest, base, tabs[0]]);
  return (
    <PermissionContext.Provider value={permissions}>
      <div class="zone-head">
        <Link class="back" href="/zones">
          Zones
        </Link>
        <h1 title={servedName(zone)}>{shownName(zone)}</h1>
        <Status zone={zone} />
      </div>
      <Tabs
        label={`Zone ${shownName(zone)}`}
        tabs={tabs.map(({ path, title }) => ({ href: `${base}/${path}`, title, current: path === rest }))}
      />
      <AwaitedDelegation zone={zone} writes={mayWrite(permissions, 'zone')} />
      {answer && screen && (
        <LoadedScreen
          key={`${zone.id} ${screen.path}`}
          screen={screen}
          title={`${screen.title} of ${shownName(zone)}`}
          zone={zone}
          base={base}
          params={{}}
        />
      )}
      {answer && rest !== RECORDS && <EditsElsewhere zone={zone} base={base} />}
      {answer && !screen && rest !== '' && (
        <Empty title="There is nothing here">
          <p>No screen has this address, or your credential may not see it.</p>
        </Empty>
      )}
    </PermissionContext.Provider>
  );
}

/** Where these edits are made and shown. */
const RECORDS = 'records';

/** Edits of records concern other screens, too: what these show is without them. */
function EditsElsewhere({ zone, base }: { readonly zone: Zone; readonly base: string }) {
  const { edits } = usePending(zone.id);
  if (edits.size === 0) return null;
  return (
    <section class="pending" aria-label="Edits that are not saved">
      <strong role="status">{notSaved(edits)}</strong>
      <span class="actions">
        <Link class="button" href={`${base}/${RECORDS}`}>
          Show the records
        </Link>
        <Link class="button primary" href={`${base}/${RECORDS}?${REVIEW}=1`}>
          Review and save
        </Link>
      </span>
    </section>
  );
}
