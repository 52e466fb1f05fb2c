/** Signing in: with a password or passkey, with a key or token, or with a link. */

import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { Mark } from '../frame.js';
import { Button } from '../kit/button.js';
import { type Sending, useSending } from '../load.js';
import { useModal } from '../parts/dialog.js';
import { FactorForm } from '../parts/factor.js';
import { Loading } from '../parts/notes.js';
import { oneWord } from '../parts/typed.js';
import { HAS_PASSKEYS, passkeyQuestion } from '../passkey.js';
import type { SignedIn, Ways } from '../types.js';
import { useQuietPasskey } from './quiet-passkey.js';
import { ChooseForm, type Credential, CredentialForm, ForgottenForm } from './sign-in-forms.js';

/** A link. Its secret stands behind the `#`, which browsers do not send, so no log has it. */
interface SignInLink {
  /** `link`: of an administrator's key. `person`: of a user. `password`: to choose one. */
  readonly kind: 'link' | 'person' | 'password';
  readonly secret: string;
}

function linkIn(address: string): SignInLink | undefined {
  const [, kind, secret] = /#(link|person|password)=([\w-]+)$/.exec(address) ?? [];
  return kind === undefined ? undefined : { kind: kind as SignInLink['kind'], secret: secret! };
}

interface SignInProps {
  readonly onSignedIn: () => Promise<void>;
}

/** Escape must not reach the form under the dialog, which would throw away what was typed there. */
function keepOpen(event: KeyboardEvent): void {
  if (event.key === 'Escape') event.preventDefault();
}

/** Over a screen whose session has ended: nothing that was typed is lost. */
export function SignInAgain({ onSignedIn }: SignInProps) {
  const dialog = useModal();
  useEffect(() => {
    const { title } = document;
    dialog.current?.querySelector<HTMLElement>('input[type="password"]')?.focus();
    return () => {
      document.title = title;
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="again"
      aria-labelledby="sign-in-title"
      onKeyDown={keepOpen}
      onClose={() => dialog.current?.showModal()}
    >
      <SignIn
        onSignedIn={onSignedIn}
        notice="Your session has ended. Sign in again to go on: what you typed is kept."
      />
    </dialog>
  );
}

/** Over a screen of one person after another has signed in, in another tab: the browser has one session for all of them. */
export function OtherPerson({ email }: { readonly email: string }) {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="again"
      aria-labelledby="other-title"
      onKeyDown={keepOpen}
      onClose={() => dialog.current?.showModal()}
    >
      <div class="sign-in">
        <div class="brand">
          <Mark />
          Zoneplane
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            location.reload();
          }}
        >
          <h1 id="other-title">Somebody else has signed in</h1>
          <p>
            In another tab of this browser, {email} has signed in. What you typed here is kept until you go on: it is
            there again when you sign in as yourself in that tab.
          </p>
          <button type="submit" class="primary">
            Go on as {email}
          </button>
        </form>
      </div>
    </dialog>
  );
}

type Step =
  | { readonly kind: 'start' }
  | { readonly kind: 'link' }
  | { readonly kind: 'second'; readonly challenge: string; readonly methods: readonly string[] }
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'choose'; readonly code: string };

/** Why nobody came back from an identity provider. */
const PROBLEMS: Readonly<Record<string, string>> = {
  providerAway: 'The identity provider does not answer. Try again later, or sign in another way.',
  badStatement: 'What the identity provider said does not count here. Ask an administrator.',
  clocksApart: 'The clocks of the identity provider and of this server are more than five minutes apart.',
  notAllowed: 'The identity provider knows you, but you have no access here. Ask an administrator.',
  needsLink: 'Your address belongs to a user already. Sign in as that user, and link the provider in the profile.',
  linkedElsewhere: 'At the provider you are somebody else’s user here.',
  expired: 'Signing in at the provider took too long, or began in another browser. Please begin again.',
  unknownProvider: 'There is no such identity provider any more.',
  noPublicUrl: 'Single sign-on needs the setting public-url.',
};

const START: Step = { kind: 'start' };

/** The steps of a sign-in, and what leads from one to the next. */
function useSignIn(onSignedIn: () => Promise<void>) {
  const [step, setStep] = useState<Step>(START);
  const sending = useSending();
  const goOn = async ({ result }: { readonly result: SignedIn }): Promise<void> => {
    if ('session' in result) await onSignedIn();
    else setStep({ kind: 'second', ...result });
  };
  const exchange = async (headers: Record<string, string>): Promise<void> => {
    await call('POST', '/user/sessions', { headers });
    await onSignedIn();
  };
  const takeLink = ({ kind, secret }: SignInLink): void => {
    if (kind === 'password') {
      setStep({ kind: 'choose', code: secret });
      return;
    }
    setStep({ kind: 'link' });
    const taken = sending.run(async () => {
      if (kind === 'link') await exchange({ authorization: `Login-Link ${secret}` });
      else await goOn(await call<SignedIn>('POST', '/user/sign_in/link', { body: { link: secret } }));
    });
    void taken.then((isIn) => isIn || setStep(START));
  };
  const submit = ({ kind, email, secret }: Credential): void => {
    const word = oneWord(secret);
    const link = linkIn(word);
    if (link) takeLink(link);
    else if (kind === 'token') void sending.run(() => exchange({ authorization: `Bearer ${word}` }));
    else if (kind === 'key') {
      void sending.run(() => exchange({ 'x-auth-email': oneWord(email), 'x-auth-key': word }));
    } else {
      const body = { email: oneWord(email), password: secret };
      void sending.run(async () => goOn(await call<SignedIn>('POST', '/user/sign_in', { body })));
    }
  };
  const enterWithPasskey = async (passkey: unknown): Promise<void> => {
    await call('POST', '/user/sign_in/passkey', { body: { passkey } });
    await onSignedIn();
  };
  return { step, setStep, sending, takeLink, submit, enterWithPasskey };
}

export function SignIn({ onSignedIn, notice }: SignInProps & { readonly notice?: string }) {
  const [told, setTold] = useState(notice);
  const { step, setStep, sending, takeLink, submit, enterWithPasskey } = useSignIn(onSignedIn);
  const ways = useWays();
  const start = (): void => {
    sending.clear();
    setStep(START);
  };
  useLinks(takeLink, (next, problem, time) => {
    if (next) setStep(next);
    const sentence = problem && (PROBLEMS[problem] ?? PROBLEMS['badStatement']);
    if (sentence) setTold(time === undefined ? sentence : `${sentence} Here it is ${time}.`);
  });
  const withPasskeys = HAS_PASSKEYS && ways?.passkeys === true;
  const isOffered = withPasskeys && step.kind === 'start';
  useQuietPasskey(isOffered, (passkey) => void sending.run(() => enterWithPasskey(passkey)));
  return (
    <div class="sign-in">
      <div class="brand">
        <Mark />
        Zoneplane
      </div>
      {step.kind === 'link' && <Loading what="the dashboard: signing in with the link" />}
      {step.kind === 'start' && (
        <CredentialForm
          {...{ sending, ways }}
          notice={told}
          onSubmit={submit}
          {...(withPasskeys && { onPasskey: enterWithPasskey })}
          onForgotten={() => setStep({ kind: 'forgotten' })}
        />
      )}
      {step.kind === 'second' && <SecondStep {...{ step, sending, onSignedIn }} onBack={start} />}
      {step.kind === 'forgotten' && <ForgottenForm onBack={start} />}
      {step.kind === 'choose' && (
        <ChooseForm
          title="Choose a password"
          verb="Set the password"
          onCancel={start}
          onChosen={async (password) => {
            await call('PUT', `/user/password_reset/${step.code}`, { body: { new: password } });
            setTold('The password is set. Sign in with it.');
            start();
          }}
        />
      )}
    </div>
  );
}

interface SecondStepProps extends SignInProps {
  readonly step: Extract<Step, { readonly kind: 'second' }>;
  readonly sending: Sending;
  readonly onBack: () => void;
}

function SecondStep({ step: { challenge, methods }, sending, onSignedIn, onBack }: SecondStepProps) {
  return (
    <section aria-labelledby="sign-in-title" class="second">
      <h1 id="sign-in-title">One more step</h1>
      <FactorForm
        methods={methods}
        sending={sending}
        verb="Sign in"
        question={() => passkeyQuestion(challenge)}
        onFactor={async (body) => {
          await call('POST', `/user/sign_in/${challenge}`, { body });
          await onSignedIn();
        }}
      />
      <Button class="quiet" onClick={onBack} text="Begin again" />
    </section>
  );
}

/** How one can sign in here; undefined until it is known. */
function useWays(): Ways | undefined {
  const [ways, setWays] = useState<Ways>();
  useEffect(() => {
    // Without an answer, the usual form is there.
    call<Ways>('GET', '/user/sign_in').then(
      ({ result }) => setWays(result),
      () => {},
    );
  }, []);
  return ways;
}

/** A link in the address is taken at once. */
function useLinks(
  take: (link: SignInLink) => void,
  comeBack: (step: Step | undefined, problem: string | undefined, time: string | undefined) => void,
): void {
  useEffect(() => {
    document.title = 'Sign in – Zoneplane';
    const takeFromAddress = (): void => {
      const [, challenge, methods = ''] = /^#second=([\w-]+)\.([a-z.]+)$/.exec(location.hash) ?? [];
      const [, problem, time] = /^#problem=(\w+)(?:\.([\dTZ:.-]+))?$/.exec(location.hash) ?? [];
      if (challenge !== undefined || problem !== undefined) {
        history.replaceState(null, '', location.pathname + location.search);
        const second = challenge && ({ kind: 'second', challenge, methods: methods.split('.') } as const);
        comeBack(second || undefined, problem, time);
        return;
      }
      const link = linkIn(location.hash);
      if (!link) return;
      history.replaceState(null, '', location.pathname + location.search);
      take(link);
    };
    takeFromAddress();
    // A link pasted into the address of this page changes only what follows the `#`, which loads nothing.
    window.addEventListener('hashchange', takeFromAddress);
    return () => window.removeEventListener('hashchange', takeFromAddress);
  }, []);
}
