// Every page works without this module. With it, forms are checked and sent once, card fields are
// spaced as they are typed, clocks run, and a waiting page follows its payment.
const all = (selector, act) => document.querySelectorAll(selector).forEach(act);
const go = address => location.replace(address);

// latin writes Arabic, Persian and Bengali digits as 0-9.
const latin = text => text.replace(/[٠-٩۰-۹০-৯]/g, c => c < "০" ? c.charCodeAt() & 15 : c.charCodeAt() - 0x9e6);

// Checks of a form, in the page's language and beside the field, so that nothing typed is lost.
const noteOf = field => document.getElementById(field.id + "-wrong");
const complain = field => {
  let note = noteOf(field);
  if (!note) {
    note = document.createElement("p");
    note.id = field.id + "-wrong";
    note.className = "wrong";
    (field.closest(".control") ?? field).after(note);
  }
  note.textContent = field.dataset.wrong;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", [note.id, document.getElementById(field.id + "-hint")?.id].filter(Boolean).join(" "));
};
const forgive = field => {
  noteOf(field)?.remove();
  field.removeAttribute("aria-invalid");
  const hint = document.getElementById(field.id + "-hint");
  hint ? field.setAttribute("aria-describedby", hint.id) : field.removeAttribute("aria-describedby");
};
const isWrong = field => {
  const text = latin(field.value).trim();
  return text === "" || (field.pattern && !new RegExp("^(?:" + field.pattern + ")$", "v").test(text));
};
all("[data-wrong]", field => field.addEventListener("input", () => field.hasAttribute("aria-invalid") && !isWrong(field) && forgive(field)));

all("form", form => {
  form.noValidate = form.querySelector("[data-wrong]") !== null;
  form.addEventListener("submit", event => {
    const chosen = event.submitter?.closest(".method") ?? form.querySelector(":checked")?.closest(".method");
    const isAsked = field => (field.closest(".method") ?? chosen) === chosen;
    const wrong = event.submitter?.formNoValidate ? [] : [...form.querySelectorAll("[data-wrong]")].filter(f => isAsked(f) && isWrong(f));
    wrong.forEach(complain);
    wrong[0]?.focus();
    const isCancel = event.submitter?.name === "cancel"; // the payer may give up while the form is on its way
    if (wrong.length > 0 || form.dataset.sent === "cancel" || (form.dataset.sent && !isCancel)) return event.preventDefault();
    form.dataset.sent = isCancel ? "cancel" : "form";
    form.querySelectorAll(isCancel ? "button" : "button:not([name=cancel])").forEach(button => button.setAttribute("aria-disabled", "true"));
    setTimeout(release, 20000); // no answer came, or a browser that does not say so was stopped
  });
});
// A form can be sent again once the browser has stopped sending it. The server takes it once.
const release = () => all("form[data-sent]", form => {
  delete form.dataset.sent;
  form.querySelectorAll("button").forEach(button => button.removeAttribute("aria-disabled"));
});
window.navigation?.addEventListener("navigateerror", release);
// A browser that can't hide the fields of the other methods shows them: whoever fills some in has chosen their method.
all(".method .fields", fields => fields.addEventListener("focusin", () => fields.parentElement.querySelector("[name=method]").checked = true));
// A browser may keep the page to show it again when the payer comes back. It keeps nothing that was typed, and the page
// that comes back is the present one.
addEventListener("pagehide", () => all("form", form => form.reset()));
addEventListener("pageshow", event => event.persisted && location.reload());
// A page that is the response to a form stands in the browser's history as the page at its address, so that a payer who comes
// back gets that page, and is not asked to send the form again.
history.replaceState(null, "", location.href);

// A field that is rewritten as it is typed; the cursor stays behind the same digit.
const rewrite = (field, write) => field.addEventListener("input", event => {
  const at = latin(field.value.slice(0, field.selectionStart)).replace(/\D/g, "").length;
  const text = write(latin(field.value).replace(/\D/g, ""), /^delete/.test(event.inputType ?? ""), latin(field.value));
  if (text === undefined || text === field.value) return;
  const atEnd = field.selectionStart === field.value.length;
  field.value = text;
  let position = 0;
  for (let seen = 0; seen < at && position < text.length; position++) if (/\d/.test(text[position])) seen++; // digits beyond the most are cut off
  if (atEnd) position = text.length;
  field.setSelectionRange(position, position);
});
all("#cardnumber", field => {
  const brands = JSON.parse(field.dataset.brands);
  const shown = field.closest(".field").querySelector(".brandname");
  rewrite(field, digits => {
    const start = Number(digits.slice(0, 4));
    const brand = digits.length < 4 ? undefined : brands.find(([from, to]) => from <= start && start <= to);
    shown.textContent = brand?.[2] ?? "";
    const groups = /^3[47]/.test(digits) ? /^(\d{4})(\d{0,6})(\d*)$/ : /^(\d{4})(\d{0,4})(\d{0,4})(\d{0,4})(\d*)$/;
    return digits.slice(0, 19).replace(groups, (_, ...parts) => parts.slice(0, -2).filter(Boolean).join(" "));
  });
});
all("#expiry", field => rewrite(field, (digits, isDeleting, text) => {
  if (isDeleting) return;
  const parts = /^\D*(\d\d?)\D+(\d*)/.exec(text); // month and year as people write them: 1/30
  if (parts) digits = parts[1].padStart(2, "0") + parts[2];
  else if (/^[2-9]/.test(digits)) digits = "0" + digits;
  if (digits.length > 4 && !/^\d\d20\d*$/.test(digits)) digits = digits.slice(0, 4);
  return digits.length < 2 ? digits : digits.slice(0, 2) + "/" + digits.slice(2, 6);
}));

// Clocks. The server decides when time is over, so a clock that has run out asks it.
const lang = document.documentElement.lang;
const inDigits = (number, digits) => new Intl.NumberFormat(lang, {minimumIntegerDigits: digits, useGrouping: false}).format(number);
const every = (seconds, show, end) => {
  const stop = performance.now() + seconds * 1000;
  const tick = () => {
    const left = Math.max(0, Math.ceil((stop - performance.now()) / 1000));
    show(left);
    if (left > 0) return setTimeout(tick, 250);
    end();
  };
  tick();
};
all("[data-left]", clock => {
  every(Number(clock.dataset.left), left => {
    clock.textContent = inDigits(Math.floor(left / 60), 1) + ":" + inDigits(left % 60, 2);
  }, () => setTimeout(() => go(location.href), 1000));
});
all("[data-go]", link => {
  const text = document.querySelector("[data-forms]");
  const forms = text && JSON.parse(text.dataset.forms);
  every(Number(link.dataset.go), left => {
    if (forms && left > 0) text.textContent = (forms[new Intl.PluralRules(lang).select(left)] ?? forms.other).replace("{n}", inDigits(left, 1));
  }, () => go(link.href));
});

// The form for a bank sends itself, unless the payer has come back to it.
all("[data-auto]", button => performance.getEntriesByType("navigation")[0]?.type !== "back_forward" && button.form.requestSubmit(button));

// A waiting page asks every three seconds whether the payment is at another step.
const step = document.body.dataset.poll;
const poll = async () => {
  try {
    const response = await fetch(location.href, {cache: "no-store", redirect: "manual"});
    if (response.type === "opaqueredirect" || !(await response.text()).includes(`data-poll="${step}"`)) return go(location.href);
  } catch {
    // The network is away; it is asked again.
  }
  setTimeout(poll, 3000);
};
if (step) setTimeout(poll, 3000);

// Buttons that need a script are hidden without one.
document.documentElement.classList.add("scripted");
all("[data-copy]", button => button.addEventListener("click", async () => {
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = button.dataset.done;
}));
all("[data-print]", button => button.addEventListener("click", () => print()));
