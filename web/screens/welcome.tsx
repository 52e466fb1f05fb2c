/** Between signing in and the screens: the first password, and a second factor where an account requires one. */
import { call } from '../api.js';
import { Mark } from '../frame.js';
import { readAgain } from '../load.js';
import { Factors } from '../parts/factors.js';
import { ChooseForm } from './sign-in-forms.js';

interface WelcomeProps {
  readonly onDone: () => void;
}

/** After the link of the first start: nothing forces anybody. */
export function FirstPassword({ onDone }: WelcomeProps) {
  return (
    <main id="main">
      <div class="sign-in">
        <div class="brand">
          <Mark />
          Zoneplane
        </div>
        <ChooseForm
          title="Choose a password"
          verb="Set the password"
          cancel="Go on with keys"
          onChosen={async (password) => {
            await call('PUT', '/user/password', { body: { new: password } });
            onDone();
          }}
          onCancel={onDone}
        />
      </div>
    </main>
  );
}

/** Nothing else works until there is a second factor. */
export function MustEnrol({ onDone }: WelcomeProps) {
  return (
    <main id="main" class="enrol">
      <h1>A second factor is needed</h1>
      <p>An account of yours requires two-factor authentication. Add one of these to go on.</p>
      <Factors
        onChanged={() => {
          readAgain();
          onDone();
        }}
      />
    </main>
  );
}
