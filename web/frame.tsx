/** What stands around every screen: the name, the navigation, the account menu. */

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.js';
import { Button } from './kit/button.js';
import { fetchScreen, LoadedScreen } from './loaded-screen.js';
import { WithCurl } from './parts/curl.js';
import { Empty } from './parts/notes.js';
import { decodePart, go, Link, matchPath } from './router.js';
import type { Screen } from './screen.js';
import { FIRST, SCREENS, ZONE_SCREENS } from './screens.js';
import { mayRead, tellTabs, usePermissions } from './session.js';
import ZoneFrame, { readFirst } from './zone-frame.js';

const ZONE: Screen = {
  path: '/zones/:zone',
  title: 'Zone',
  listed: false,
  load: async () => ({ default: ZoneFrame, readFirst }),
};

interface Found {
  readonly screen: Screen;
  readonly params: Readonly<Record<string, string>>;
}

function findScreen(path: string): Found | undefined {
  for (const screen of SCREENS) {
    const params = matchPath(screen.path, path);
    if (params) return { screen, params };
  }
  const [, zones, zone, ...rest] = path.split('/');
  if (zones !== 'zones' || !zone || ZONE_SCREENS.length === 0) return undefined;
  return { screen: ZONE, params: { zone: decodePart(zone), rest: rest.join('/') } };
}

/** Begins to fetch an address's screen and what it reads, before it is known whether somebody is signed in. */
export function fetchPlace(path: string): void {
  const found = findScreen(path === '/' ? FIRST : path);
  if (found) fetchScreen(found.screen, { params: found.params });
}

export function Frame({ path }: { readonly path: string }) {
  const permissions = usePermissions();
  useEffect(() => {
    if (path === '/') go(FIRST, { replace: true });
  }, [path]);
  const found = findScreen(path);
  const isFor = ({ needs, needsAllZones }: Pick<Screen, 'needs' | 'needsAllZones'>): boolean =>
    (!needs || mayRead(permissions, ...needs)) && (!needsAllZones || permissions.all_zones);
  const isPermitted = !found || isFor(found.screen);
  const listed = SCREENS.filter((screen) => screen.listed && isFor(screen));
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Link class="brand" href={FIRST}>
          <Mark />
          Zoneplane
        </Link>
        <nav aria-label="Main">
          {listed.map(({ path: to, title }) => (
            <Link key={to} href={to} aria-current={isWithin(path, to) ? 'page' : undefined}>
              {title}
            </Link>
          ))}
        </nav>
        <AccountMenu email={permissions.email} />
      </header>
      {permissions.session?.how.includes('recovery') && (
        <p class="note" role="status">
          You signed in with a recovery code; {permissions.session.recovery_codes} are left.{' '}
          <Link href="/profile">Look after your second factor</Link>
        </p>
      )}
      {(permissions.session?.invitations ?? 0) > 0 && (
        <p class="note" role="status">
          You are invited to an account. <Link href="/profile">Answer the invitation</Link>
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {found && isPermitted && (
          <WithCurl key={found.screen.path}>
            <LoadedScreen {...found} />
          </WithCurl>
        )}
        {found && !isPermitted && <NotPermitted />}
        {!found && path !== '/' && <NotFound />}
      </main>
    </>
  );
}

function isWithin(path: string, to: string): boolean {
  return path === to || path.startsWith(`${to}/`);
}

function NotPermitted() {
  return (
    <Empty title="Your credential may not see this" isAlone>
      <p>
        You are signed in with a credential that has other permissions. <Link href={FIRST}>Go to the start</Link>
      </p>
    </Empty>
  );
}

function NotFound() {
  useEffect(() => {
    document.title = 'Nothing here – Zoneplane';
  }, []);
  return (
    <Empty title="There is nothing here" isAlone>
      <p>
        This address belongs to no screen. <Link href={FIRST}>Go to the start</Link>
      </p>
    </Empty>
  );
}

/** The sign of the program: layers of zones. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path class="mark-top" d="M5 11 16 5.500l11 5.500-11 5.500Z" />
      <path class="mark-middle" d="m5 16.500 11 5.500 11-5.500" />
      <path class="mark-low" d="m5 22 11 5.500L27 22" />
    </svg>
  );
}

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const THEME = 'zoneplane-theme';

/** What somebody chose. */
export function storedTheme(): Theme {
  const stored = localStorage.getItem(THEME);
  return THEMES.find((theme) => theme === stored) ?? 'auto';
}

/** Light and dark; `auto`: as the system has it. */
export function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

type Density = 'compact' | 'wide';
/** Kept for each person who signs in with this browser. */
const densityOf = (email: string): string => `zoneplane-density ${email}`;

function storedDensity(email: string): Density {
  return localStorage.getItem(densityOf(email)) === 'wide' ? 'wide' : 'compact';
}

/** How high rows of tables are. */
function applyDensity(density: Density): void {
  document.documentElement.dataset['density'] = density;
}

interface SegmentsProps<Name extends string> {
  readonly legend: string;
  readonly name: string;
  readonly words: Readonly<Record<Name, string>>;
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

function Segments<Name extends string>({ legend, name, words, chosen, onChoose }: SegmentsProps<Name>) {
  return (
    <fieldset class="segments">
      <legend>{legend}</legend>
      {(Object.keys(words) as Name[]).map((one) => (
        <label key={one}>
          <input type="radio" name={name} checked={chosen === one} onChange={() => onChoose(one)} />
          <span>{words[one]}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Closes a menu when somebody presses elsewhere, or Escape. */
function useClosing(menu: RefObject<HTMLDetailsElement | null>): void {
  useEffect(() => {
    const close = (event: Event): void => {
      if (!menu.current?.open) return;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      if (event instanceof KeyboardEvent ? !isEscape : menu.current.contains(event.target as Node)) return;
      menu.current.open = false;
      if (isEscape) menu.current.querySelector('summary')?.focus();
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, []);
}

function AccountMenu({ email }: { readonly email: string }) {
  const { session } = usePermissions();
  const menu = useRef<HTMLDetailsElement>(null);
  const [theme, setTheme] = useState(storedTheme);
  const [density, setDensity] = useState(() => storedDensity(email));
  useLayoutEffect(() => applyDensity(density), [density]);
  useClosing(menu);
  const signOut = async (): Promise<void> => {
    // A session that is over already is what was wanted.
    await call('DELETE', '/user/sessions/current').catch(() => {});
    tellTabs();
    // A new page: nothing of this person stays in memory.
    location.assign('/sign-in');
  };
  const choose = (next: Theme): void => {
    applyTheme(next);
    localStorage.setItem(THEME, next);
    setTheme(next);
  };
  const chooseDensity = (next: Density): void => {
    localStorage.setItem(densityOf(email), next);
    setDensity(next);
  };
  return (
    <details class="account" ref={menu}>
      <summary aria-label={`Account of ${email}`}>{email}</summary>
      <div class="menu">
        <Segments
          legend="Appearance"
          name="theme"
          words={{ auto: 'System', light: 'Light', dark: 'Dark' }}
          chosen={theme}
          onChoose={choose}
        />
        <Segments
          legend="Rows of tables"
          name="density"
          words={{ compact: 'Compact', wide: 'Wide' }}
          chosen={density}
          onChoose={chooseDensity}
        />
        {session?.person && <Link href="/profile">Profile</Link>}
        <a href="/docs">API description</a>
        <Button onClick={() => void signOut()} text="Sign out" />
      </div>
    </details>
  );
}
