/** Starts the dashboard: asks who is signed in, then draws the screen of the address. */
import { render } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call, whenSignedOut } from './api.js';
import { applyTheme, Frame, fetchPlace, storedTheme } from './frame.js';
import { read, readAgain, readAhead } from './load.js';
import { ConfirmPerson } from './parts/confirm-person.js';
import { ErrorNote, Loading } from './parts/notes.js';
import { go, usePlace } from './router.js';
import { OtherPerson, SignIn, SignInAgain } from './screens/sign-in.js';
import { FirstPassword, MustEnrol } from './screens/welcome.js';
import { FIRST } from './screens.js';
import { PermissionContext, tellTabs, whenRightsChange, whenTabsTell } from './session.js';
import type { Permissions } from './types.js';

const PERMISSIONS = '/user/permissions';

function App() {
  const { path, query } = usePlace();
  const [permissions, setPermissions] = useState<Permissions>();
  const [error, setError] = useState<ApiError>();
  const [hasEnded, setEnded] = useState(false);
  const [other, setOther] = useState<string>();
  const known = useRef<Permissions>(undefined);
  /** Another tab signed in or out: this one shows what its session may do now. */
  const follow = async (): Promise<void> => {
    if (!known.current) return;
    try {
      const next = (await call<Permissions>('GET', PERMISSIONS)).result;
      const isOther = known.current.email !== next.email;
      setOther(isOther ? next.email : undefined);
      setEnded(false);
      if (isOther) return;
      known.current = next;
      setPermissions(next);
      readAgain();
    } catch (caught) {
      // A session that has ended is heard of by `whenSignedOut`; one that cannot be asked for is asked with the next request.
      if (!(caught instanceof ApiError)) throw caught;
    }
  };
  const enter = async (): Promise<void> => {
    try {
      const next = (await read<Permissions>(PERMISSIONS)).result;
      // What another person typed is not for this one.
      if (known.current && known.current.email !== next.email) location.reload();
      known.current = next;
      setPermissions(next);
      setError(undefined);
      setEnded(false);
    } catch (caught) {
      if (caught instanceof ApiError && caught.status !== 0 && caught.status < 500) leave();
      else if (caught instanceof ApiError) setError(caught);
      else throw caught;
    }
  };
  useLayoutEffect(() => {
    // A screen with what somebody typed stays, under the form for signing in.
    whenSignedOut(() => (known.current ? setEnded(true) : leave()));
    whenTabsTell(() => void follow());
    whenRightsChange(() => void enter().then(tellTabs));
    if (location.pathname !== '/sign-in') void enter();
  }, []);
  if (path === '/sign-in') {
    const to = query.get('to');
    const target = to !== null && /^\/(?![/\\])/.test(to) ? to : FIRST;
    return (
      <main id="main">
        <SignIn
          onSignedIn={() =>
            enter()
              .then(tellTabs)
              .then(() => go(target, { replace: true }))
          }
        />
      </main>
    );
  }
  if (error) return <ErrorNote error={error} onRetry={() => void enter()} />;
  if (!permissions) return <Loading what="the dashboard" />;
  return (
    <PermissionContext.Provider value={permissions}>
      <SignedIn path={path} permissions={permissions} onChanged={() => void enter().then(tellTabs)} />
      {other !== undefined && <OtherPerson email={other} />}
      {hasEnded && other === undefined && <SignInAgain onSignedIn={() => enter().then(tellTabs).then(readAgain)} />}
    </PermissionContext.Provider>
  );
}

interface SignedInProps {
  readonly path: string;
  readonly permissions: Permissions;
  /** When the session may do more than before. */
  readonly onChanged: () => void;
}

/** The screens, or what comes before them. */
function SignedIn({ path, permissions: { session }, onChanged }: SignedInProps) {
  /** Whether the question for a first password was answered. */
  const [isChosen, setChosen] = useState(false);
  // Only after a link: users of a passkey or a provider need no password.
  if (session?.may_choose_password && session.how.includes('link') && !isChosen) {
    const goOn = (): void => {
      setChosen(true);
      onChanged();
    };
    return <FirstPassword onDone={goOn} />;
  }
  return (
    <>
      {session?.must_enrol ? <MustEnrol onDone={onChanged} /> : <Frame path={path} />}
      <ConfirmPerson />
    </>
  );
}

/** To the sign-in page, and back here afterwards. */
function leave(): void {
  if (location.pathname === '/sign-in') return;
  const here = location.pathname + location.search;
  go(here === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(here)}`, { replace: true });
}

whenSignedOut(leave);
// First, because all of these take longer than what follows.
if (location.pathname !== '/sign-in') {
  fetchPlace(location.pathname);
  readAhead(PERMISSIONS);
}
applyTheme(storedTheme());
const root = document.getElementById('app')!;
root.textContent = '';
render(<App />, root);
