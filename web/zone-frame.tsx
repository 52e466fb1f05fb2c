/** What stands around every screen of a zone: its name and state, and the tabs. */
import { useEffect } from 'preact/hooks';
import { LoadedScreen } from './frame.js';
import { useLoad } from './load.js';
import { Empty, ErrorNote, Loading } from './parts/notes.js';
import { Tabs } from './parts/tabs.js';
import { go, Link } from './router.js';
import { Status } from './screens/zones/zones.js';
import { type ScreenProps, ZONE_SCREENS } from './screens.js';
import { mayRead, PermissionContext, usePermissions } from './session.js';
import type { Permissions, Zone } from './types.js';

export default function ZoneFrame({ params }: ScreenProps) {
  const named = params['zone']!;
  const rest = params['rest'] ?? '';
  const isId = /^[0-9a-f]{32}$/.test(named);
  const { answer, error, reload } = useLoad<Zone | Zone[]>(
    isId ? `/zones/${named}` : `/zones?name=${encodeURIComponent(named)}`,
  );
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what={`the zone ${named}`} />;
  const found = [answer.result].flat();
  const zone = found.find(({ status }) => status === 'active') ?? found[0];
  if (!zone) {
    return (
      <Empty title={`There is no zone ${named}`}>
        <p>
          It may belong to another account, or have another name. <Link href="/zones">Show all zones</Link>
        </p>
      </Empty>
    );
  }
  return <OneZone zone={zone} rest={rest} base={`/zones/${encodeURIComponent(named)}`} />;
}

interface OneZoneProps {
  readonly zone: Zone;
  readonly rest: string;
  readonly base: string;
}

function OneZone({ zone, rest, base }: OneZoneProps) {
  const everywhere = usePermissions();
  const { answer } = useLoad<Permissions>(`/user/permissions?zone_id=${zone.id}`);
  const permissions = answer?.result ?? everywhere;
  const usable = ZONE_SCREENS.filter(
    ({ needs, narrowable }) => (!needs || mayRead(permissions, needs)) && (narrowable || permissions.records === null),
  );
  const tabs = usable.filter(({ listed }) => listed);
  const screen = usable.find(({ path }) => path === rest);
  useEffect(() => {
    if (rest === '' && tabs[0]) go(`${base}/${tabs[0].path}`, { replace: true });
  }, [rest, base, tabs[0]]);
  useEffect(() => {
    if (screen) document.title = `${screen.title} of ${zone.name} – Zoneplane`;
  }, [screen, zone.name]);
  return (
    <PermissionContext.Provider value={permissions}>
      <div class="zone-head">
        <Link class="back" href="/zones">
          Zones
        </Link>
        <h1>{zone.name}</h1>
        <Status zone={zone} />
      </div>
      <Tabs
        label={`Zone ${zone.name}`}
        tabs={tabs.map(({ path, title }) => ({ href: `${base}/${path}`, title, current: path === rest }))}
      />
      {answer && screen && (
        <LoadedScreen key={`${zone.id} ${screen.path}`} screen={screen} zone={zone} base={base} params={{}} />
      )}
      {answer && !screen && rest !== '' && (
        <Empty title="There is nothing here">
          <p>No screen has this address, or your credential may not see it.</p>
        </Empty>
      )}
    </PermissionContext.Provider>
  );
}
