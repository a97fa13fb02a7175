package simulator

import "mizan/ledger/payment"

// failures maps the reasons in the simulator's log to the service's failures. For a failure without a Detail,
// the service shows its own text for the failure's code.
var failures = map[string]payment.Failure{
	reasonDeclined:       {Code: payment.CardDeclined},
	reasonFunds:          {Code: payment.InsufficientFunds},
	reasonExpired:        {Code: payment.ExpiredCard},
	reasonProcessing:     {Code: payment.ProcessingError},
	reasonForced:         {Code: payment.ForcedByTerminal},
	reasonAuthentication: {Code: payment.AuthenticationFailed},
	reasonRefundRefused:  {Code: payment.RefundDeclined},
	reasonToken:          {Code: payment.CardDeclined, Detail: "The stored credential is not known to the provider."},
	reasonMethod:         {Code: payment.ProcessingError, Detail: "The provider does not take this method."},
	reasonNoCard:         {Code: payment.ProcessingError, Detail: "The card's data did not reach the provider."},
	reasonDestination:    {Code: payment.ProcessingError, Detail: "The receiving institution is not known to the provider."},
	reasonInUse:          {Code: payment.ProcessingError, Detail: "The provider has another charge of that reference."},
	reasonNotHeld:        {Code: payment.ProcessingError, Detail: "The provider holds no money for it."},
	reasonAboveHeld:      {Code: payment.ProcessingError, Detail: "The amount is above what the provider holds."},
	reasonNoAmount:       {Code: payment.ProcessingError, Detail: "The provider was given no amount."},
	reasonCharged:        {Code: payment.ProcessingError, Detail: "The provider has charged it already."},
	reasonVoided:         {Code: payment.CancelledByCaller},
	reasonAboveCharge:    {Code: payment.RefundDeclined, Detail: "The amount is above what is left of the charge."},
	reasonNotSettled:     {Code: payment.RefundDeclined, Detail: "The charge has not settled at the provider."},
	reasonTakenBack:      {Code: payment.RefundDeclined, Detail: "The charge was taken back at the provider."},
	reasonUnwritable:     {Code: payment.ProcessingError, Detail: "The provider could not be reached."},
	reasonLongURL:        {Code: payment.ProcessingError, Detail: "The address to return the payer to is too long for the provider."},
}
